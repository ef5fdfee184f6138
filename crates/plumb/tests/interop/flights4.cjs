// Reads the flight service in version 4 with odata of node; prints what it found as JSON.
//
//     node flights4.cjs URL USER PASSWORD
"use strict";

const { createRequire } = require("node:module");
const { o } = createRequire(`${process.env.PLUMB_TEST_NODE}/`)("odata");

const [url, user, password] = process.argv.slice(2);
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const service = () => o(url, { headers: { Authorization: authorization } });
const key = "FlightCollection(carrid='AA',connid='0017',fldate=2011-06-01)";

async function main() {
    const all = await service().get("FlightCollection").query();
    const flight = await service().get(key).query({ $expand: "flightCarrier" });
    const dear = await service().get("FlightCollection").query({
        $filter: "carrid eq 'LH'",
        $orderby: "PRICE desc",
        $select: "carrid,PRICE",
        $top: 2,
    });
    const counted = await service().get("FlightCollection/$count").fetch({ $filter: "carrid eq 'LH'" });
    const led = await service().get("CarrierCollection('QF')/carrierFlights").query();
    const missing = await service().get("CarrierCollection('XX')").query().catch((error) => error);
    console.log(JSON.stringify({
        all: all.length,
        price: flight.PRICE,
        carrier: flight.flightCarrier.CARRNAME,
        dear: dear.map((found) => found.carrid),
        lufthansa: Number(await counted.text()),
        flights_of_carrier: led.length,
        missing: missing.status,
    }));
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});

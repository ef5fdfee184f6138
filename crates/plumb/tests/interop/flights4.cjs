// Reads the flight service in version 4 with odata of node, and changes it in batches; prints what it found as
// JSON.
//
//     node flights4.cjs URL USER PASSWORD
"use strict";

const { createRequire } = require("node:module");
const { o } = createRequire(`${process.env.PLUMB_TEST_NODE}/`)("odata");

const [url, user, password] = process.argv.slice(2);
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const service = () => o(url, { headers: { Authorization: authorization } });
const key = "FlightCollection(carrid='AA',connid='0017',fldate=2011-06-01)";

// What a set of changes of a carrier and its flight comes to: all of it, none of it, and away again.
async function changed() {
    const set = (...requests) => {
        const batch = { boundaryPrefix: "batch_", changsetBoundaryPrefix: "changset_", endpoint: "$batch",
            headers: new Headers({ Authorization: authorization }), useChangset: true };
        const changing = o(url, { headers: { Authorization: authorization, "Content-Type": "application/json" },
            batch });
        requests.forEach(([method, path, body]) => changing[method](path, body));
        return changing.batch();
    };
    const flightKey = "FlightCollection(carrid='ZN',connid='0001',fldate=2026-11-24)";
    const create = ["post", "CarrierCollection", { carrid: "ZN", CARRNAME: "Node Air", CURRCODE: "EUR" }];
    const done = await set(create,
        ["post", "CarrierCollection('ZN')/carrierFlights", { connid: "0001", fldate: "2026-11-24",
            PRICE: 123.45, SEATSMAX: 100, cityTo: "PARIS", departureTime: "07:30:00" }],
        ["patch", flightKey, { SEATSOCC: 5 }]);
    const made = await service().get(flightKey).query();
    const refused = await set(["patch", "CarrierCollection('ZN')", { CARRNAME: "Other" }], create);
    const kept = await service().get("CarrierCollection('ZN')").query();
    const away = await set(["delete", flightKey], ["delete", "CarrierCollection('ZN')"]);
    const gone = await service().get("CarrierCollection('ZN')").query().catch((error) => error);
    return {
        done: done.map((part) => part.status),
        made: [made.PRICE, made.SEATSOCC, made.cityTo, made.departureTime],
        refused: refused.map((part) => part.status),
        kept: kept.CARRNAME,
        away: away.map((part) => part.status),
        gone: gone.status,
    };
}

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
        changed: await changed(),
    }));
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});

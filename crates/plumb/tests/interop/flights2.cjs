// Reads the flight service in version 2 with datajs, and changes it in a batch; prints what it found as
// JSON.
//
//     node flights2.cjs URL USER PASSWORD
"use strict";

const { createRequire } = require("node:module");
// it puts what it has into the window of a browser
globalThis.window = globalThis;
createRequire(`${process.env.PLUMB_TEST_NODE}/`)("datajs");
const { OData } = globalThis.window;

const [url, user, password] = process.argv.slice(2);
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

// How datajs asks where there is no browser around it.
const client = {
    request(request, success, error) {
        const headers = { ...request.headers, Authorization: authorization };
        const asked = { method: request.method || "GET", headers, body: request.body };
        fetch(request.requestUri, asked)
            .then(async (response) => {
                const told = {};
                response.headers.forEach((value, name) => {
                    told[name.replace(/(^|-)[a-z]/g, (mark) => mark.toUpperCase())] = value;
                });
                told.DataServiceVersion = response.headers.get("dataserviceversion");
                const answer = {
                    requestUri: request.requestUri,
                    statusCode: response.status,
                    headers: told,
                    body: await response.text(),
                };
                (response.status >= 200 && response.status < 300 ? success : error)(
                    response.ok ? answer : { message: "HTTP request failed", response: answer },
                );
            })
            .catch(error);
        return { abort() {} };
    },
};

function ask(request, handler) {
    return new Promise((good, bad) => {
        OData.request(request, (data) => good(data), bad, handler, client);
    });
}

function read(below) {
    return ask({ requestUri: url + below, headers: { Accept: "application/json" } });
}

async function main() {
    const key = "FlightCollection(carrid='AA',connid='0017',fldate=datetime'2011-06-01T00:00:00')";
    const all = await read("FlightCollection");
    const flight = await read(`${key}?$expand=flightCarrier`);
    const dear = await read(
        "FlightCollection?$filter=carrid eq 'LH'&$orderby=PRICE desc&$top=2&$inlinecount=allpages",
    );
    const missing = await read("CarrierCollection('XX')").catch((error) => error.response.statusCode);
    const airline = { carrid: "ZD", CARRNAME: "Data Air", CURRCODE: "EUR", URL: "http://d" };
    const trip = {
        connid: "0001", fldate: new Date(Date.UTC(2026, 5, 1)), PRICE: "123.45", CURRENCY: "EUR",
        PLANETYPE: "A340", SEATSMAX: 100, SEATSOCC: 0, cityTo: "PARIS",
    };
    const change = (name, method, requestUri, data) => {
        const headers = { "Content-ID": name, Accept: "application/json" };
        return { requestUri, method, data, headers };
    };
    const batch = await ask({
        requestUri: `${url}$batch`,
        method: "POST",
        data: {
            __batchRequests: [
                {
                    __changeRequests: [
                        change("1", "POST", "CarrierCollection", airline),
                        change("2", "POST", "$1/carrierFlights", trip),
                        change("3", "MERGE", "$2", { SEATSOCC: 5 }),
                    ],
                },
                { __changeRequests: [change("4", "DELETE", "CarrierCollection('LH')")] },
                { requestUri: "CarrierCollection('ZD')/carrierFlights/$count", method: "GET" },
            ],
        },
    }, OData.batchHandler);
    const [set, refused, counted] = batch.__batchResponses;
    const made = await read("CarrierCollection('ZD')/carrierFlights");
    const [one] = made.results;
    console.log(JSON.stringify({
        all: all.results.length,
        price: Number(flight.PRICE),
        carrier: flight.flightCarrier.CARRNAME,
        dear: dear.results.length,
        lufthansa: Number(dear.__count),
        missing,
        set: set.__changeResponses.map((response) => Number(response.statusCode)),
        refused: JSON.stringify(refused).includes("has flights"),
        flights: Number(counted.data || counted.body),
        made: `${one.PRICE} ${one.SEATSOCC} ${one.cityTo}`,
    }));
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});

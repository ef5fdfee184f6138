"""Reads the flight service in version 4 with python-odata; prints what it found as JSON."""

import json
import sys

import requests
from odata import ODataService
from odata.exceptions import NoResultsFound

url, user, password = sys.argv[1:]
session = requests.Session()
service = ODataService(
    url, session=session, auth=(user, password), reflect_entities=True, quiet_progress=True
)
Flight = service.entities["FlightCollection"]
Carrier = service.entities["CarrierCollection"]

found = {"all": len(service.query(Flight).all())}
# it writes dates as texts, so the first of a connection is asked for
american = service.query(Flight).filter(Flight.carrid == "AA").filter(Flight.connid == "0017")
flight = american.order_by(Flight.fldate.asc()).expand(Flight.flightCarrier).first()
found["price"] = float(flight.PRICE)
found["carrier"] = flight.flightCarrier.CARRNAME
lufthansa = Flight.carrid == "LH"
dear = service.query(Flight).filter(lufthansa).order_by(Flight.PRICE.desc()).limit(2)
found["dear"] = [flight.carrid for flight in dear.all()]
found["lufthansa"] = service.query(Flight).filter(lufthansa).count()
quantas = service.query(Carrier).expand(Carrier.carrierFlights).get("QF")
found["flights_of_carrier"] = len(quantas.carrierFlights)
try:
    service.query(Carrier).get("XX")
except NoResultsFound:
    answer = requests.get(url + "CarrierCollection('XX')", auth=(user, password), timeout=60)
    found["missing"] = answer.status_code
json.dump(found, sys.stdout)

"""Reads the flight service in version 4 with python-odata; prints what it found as JSON."""

import datetime
import json
import sys

import requests
from odata import ODataService
from odata.exceptions import ODataConnectionError, ODataError

url, user, password = sys.argv[1:]
session = requests.Session()
service = ODataService(url, session=session, auth=(user, password), reflect_entities=True, quiet_progress=True)
Flight, Carrier = service.entities["FlightCollection"], service.entities["CarrierCollection"]

found = {"all": len(service.query(Flight).all())}
flight = service.query(Flight).get(
    carrid="AA", connid="0017", fldate=datetime.date(2011, 6, 1)
)
found["price"] = float(flight.PRICE)
found["carrier"] = flight.flightCarrier.CARRNAME
dear = service.query(Flight).filter(Flight.carrid == "LH").order_by(Flight.PRICE.desc()).limit(2)
found["dear"] = [flight.carrid for flight in dear.all()]
found["lufthansa"] = len(service.query(Flight).filter(Flight.carrid == "LH").all())
carrier = service.query(Carrier).get("QF")
found["flights_of_carrier"] = len(carrier.carrierFlights)
try:
    service.query(Carrier).get("XX")
except (ODataConnectionError, ODataError) as error:
    found["missing"] = error.status_code
json.dump(found, sys.stdout)

"""Reads the flight service with pyodata; prints what it found as JSON."""

import datetime
import json
import sys
from xml.etree import ElementTree

import pyodata
import requests
from pyodata.exceptions import HttpError

url, user, password = sys.argv[1:]
session = requests.Session()
session.auth = (user, password)
client = pyodata.Client(url, session)
flights = client.entity_sets.FlightCollection
key = {
    "carrid": "AA",
    "connid": "0017",
    "fldate": datetime.datetime(2011, 6, 1, tzinfo=datetime.timezone.utc),
}

found = {"sets": sorted(entity_set.name for entity_set in client.schema.entity_sets)}
found["all"] = len(flights.get_entities().execute())
flight = flights.get_entity(**key).execute()
found["price"] = str(flight.PRICE)
found["date"] = flight.fldate.date().isoformat()
found["carrier"] = flight.nav("flightCarrier").execute().CARRNAME
dear = flights.get_entities().order_by("PRICE desc").top(2).skip(1).select("carrid,connid,fldate")
found["dear"] = [flight.carrid for flight in dear.execute()]
lufthansa = flights.get_entities().filter("carrid eq 'LH'").count(inline=True)
found["lufthansa"] = lufthansa.execute().total_count
carrier = client.entity_sets.CarrierCollection.get_entity("QF")
found["flights_of_carrier"] = len(carrier.nav("carrierFlights").get_entities().execute())
try:
    flights.get_entity(**{**key, "carrid": "XX"}).execute()
except HttpError as error:
    found["missing"] = error.response.status_code
batch = client.create_batch("batch")
batch.add_request(flights.get_entity(**key))
batch.add_request(client.entity_sets.CarrierCollection.get_entity("LH"))
batch.add_request(flights.get_entities().top(2))
answers = batch.execute()
found["batch"] = [str(answers[0].PRICE), answers[1].CARRNAME, len(answers[2])]
broken = client.create_batch("broken")
broken.add_request(client.entity_sets.CarrierCollection.get_entity("XX"))
try:
    broken.execute()
except HttpError as error:
    found["batch"].append(error.response.status_code)
# documents that say what went wrong are well-formed, whatever was asked for
found["errors"] = []
for path in [
    "Bookings%3C%26%3E%22%27",
    "CarrierCollection('%EF%BF%BF%EF%BF%BE')",
    "FlightCollection?$filter=%EF%BF%BF",
    "CarrierCollection('%01')",
    "FlightCollection?$orderby=%3C!--%3C![CDATA[",
]:
    answer = session.get(url + path, headers={"Accept": "application/xml"})
    ElementTree.fromstring(answer.content)
    found["errors"].append(answer.status_code)
json.dump(found, sys.stdout)

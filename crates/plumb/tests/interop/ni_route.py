"""Builds the request for a route with pysap; prints it as hexadecimal digits."""

import sys

from pysap.SAPNI import SAPNI
from pysap.SAPRouter import SAPRouter, SAPRouterRouteHop
from scapy.compat import raw

hops = SAPRouterRouteHop.from_string(sys.argv[1])
lengths = [len(raw(hop)) for hop in hops]
request = SAPRouter(
    type=SAPRouter.SAPROUTER_ROUTE,
    route_ni_version=40,
    route_entries=len(hops),
    route_talk_mode=0,
    route_rest_nodes=len(hops) - 1,
    route_length=sum(lengths),
    route_offset=lengths[0],
    route_string=hops,
)
print(raw(SAPNI() / request)[4:].hex())

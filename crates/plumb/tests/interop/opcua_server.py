"""An OPC UA server with one node; it counts once somebody has subscribed, and then waits to be ended.

    opcua_server.py PORT FIRST LAST

Says `ready`, `subscribed` and `counted`, a line each.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from asyncua import Server


def subscribed(server: Server) -> bool:
    """True once a client watches something."""
    found = server.iserver.subscription_service.subscriptions.values()
    return any(it.monitored_item_srv._monitored_items for it in found)


async def main(port: int, first: int, last: int) -> None:
    """Serves until it is ended."""
    server = Server()
    await server.init()
    server.set_endpoint(f"opc.tcp://127.0.0.1:{port}")
    space = await server.register_namespace("urn:press")
    press = await server.nodes.objects.add_object(space, "Press")
    node = await press.add_variable(f"ns={space};s=Press.Count", "Count", first - 1)
    async with server:
        print("ready", flush=True)
        while not subscribed(server):
            await asyncio.sleep(0.02)
        print("subscribed", flush=True)
        for number in range(first, last + 1):
            await node.write_value(number)
            await asyncio.sleep(0.002)
        print("counted", flush=True)
        await asyncio.Event().wait()


logging.disable(logging.CRITICAL)
asyncio.run(main(*(int(word) for word in sys.argv[1:])))

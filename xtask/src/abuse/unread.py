"""Clients that ask and never read: `unread.py viewers|csv|parquet|arrow HOST SESSION COUNT`.

It prints `ready` when all have asked, and ends with its standard input. Before the viewers it asks once as
they do, and fails if that is not answered with all rows.
"""

import json
import socket
import struct
import sys

kind, host, session, count = sys.argv[1:]
address, port = host.rsplit(":", 1)


def connect(reads):
    """Connects, if it does not read with a small receive buffer, so that little is sent in advance."""
    client = socket.socket()
    if not reads:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((address, int(port)))
    return client


def request(path, *fields):
    return "\r\n".join([f"GET /api/sessions/{session}/{path} HTTP/1.1", f"Host: {host}", *fields, "", ""]).encode()


def export():
    client = connect(reads=False)
    client.sendall(request(f"export?format={kind}"))
    return client


def frame(text):
    """A text frame with its length in the shortest form and a mask of zeros (RFC 6455 section 5.2)."""
    short = len(text) < 126
    length = struct.pack(">B", 0x80 | len(text)) if short else struct.pack(">BH", 0x80 | 126, len(text))
    return b"\x81" + length + bytes(4) + text


def viewer(number, reads=False):
    """A viewer whose question is its own."""
    client = connect(reads)
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    client.sendall(request("live", *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = client.recv(1)
        assert byte, head
        head += byte
    assert head.startswith(b"HTTP/1.1 101 "), head
    query = {"id": 1, "group": "path", "top": ROWS, "conditions": [f"path!=/none{number}"], "clauses": []}
    client.sendall(frame(json.dumps({"type": "query", "query": query}).encode()))
    return client


def messages(client):
    """The texts that the server sends, each in one frame without a mask."""
    stream = client.makefile("rb")
    while True:
        opcode, length = struct.unpack(">BB", stream.read(2))
        assert opcode == 0x81, f"the server ended the connection: {stream.read(length)}"
        if length == 126:
            (length,) = struct.unpack(">H", stream.read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", stream.read(8))
        yield json.loads(stream.read(length))


def check_answer():
    """Fails if a viewer's question is not understood."""
    with viewer("", reads=True) as client:
        client.settimeout(30)
        view = next(it["view"] for it in messages(client) if it["view"]["query"] == 1)
        assert len(view["report"]["group"]["rows"]) == ROWS, view


ROWS = 10_000
if kind == "viewers":
    check_answer()
clients = [viewer(number) if kind == "viewers" else export() for number in range(int(count))]
print("ready", flush=True)
sys.stdin.read()

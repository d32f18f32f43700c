"""Clients that ask and never read: `unread.py viewers|exports HOST SESSION COUNT`.

It prints `ready` when all have asked, and ends with its standard input.
"""

import json
import socket
import struct
import sys

kind, host, session, count = sys.argv[1:]
address, port = host.rsplit(":", 1)


def connect():
    """Connects with a receive buffer that is small, so that little is sent in advance."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((address, int(port)))
    return client


def request(path, *fields):
    return "\r\n".join([f"GET /api/sessions/{session}/{path} HTTP/1.1", f"Host: {host}", *fields, "", ""]).encode()


def export():
    client = connect()
    client.sendall(request("export?format=csv"))
    return client


def viewer(number):
    """A viewer whose question is its own (RFC 6455; a mask of zeros)."""
    client = connect()
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    client.sendall(request("live", *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = client.recv(1)
        assert byte, head
        head += byte
    assert head.startswith(b"HTTP/1.1 101 "), head
    query = {"id": 1, "group": "path", "top": 10000, "conditions": [f"path!=/none{number}"], "clauses": []}
    question = json.dumps({"type": "query", "query": query}).encode()
    client.sendall(struct.pack(">BBHI", 0x81, 0x80 | 126, len(question), 0) + question)
    return client


clients = [viewer(number) if kind == "viewers" else export() for number in range(int(count))]
print("ready", flush=True)
sys.stdin.read()

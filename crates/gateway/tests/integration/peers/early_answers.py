"""Sends requests over one connection, each with a body after its head, and prints how many were answered with
the expected status. Arguments: PORT STATUS COUNT."""

import http.client
import sys

port, status, count = map(int, sys.argv[1:])
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
answered = 0
for _ in range(count):
    try:
        connection.putrequest("POST", "/")
        connection.putheader("Content-Length", "10")
        connection.endheaders()
        connection.send(b"01234")
        connection.send(b"56789")
        response = connection.getresponse()
        response.read()
        answered += response.status == status
    except (OSError, http.client.HTTPException) as error:
        print(repr(error), file=sys.stderr)
        connection.close()
print(answered)

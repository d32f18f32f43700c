"""Services and clients of other implementations: gRPC by grpcio, WebSockets by websockets.

    services.py serve                             starts both, prints their ports, ends with standard input
    services.py ask HOST CERTIFICATE TOKEN        asks them through a gateway; prints `passed` at the end

HOST is an address of TLS. The gateway sends /echo.Echo/ to gRPC and /socket to WebSockets.
"""

import asyncio
import ssl
import sys
import threading
from concurrent import futures

import grpc
import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve as serve_websockets


def identity(data):
    return data


class Echo(grpc.GenericRpcHandler):
    """Methods of every kind, whose messages are bytes."""

    def service(self, details):
        name = details.method.rsplit("/", 1)[-1]
        kinds = {
            "Unary": (grpc.unary_unary_rpc_method_handler, self.unary),
            "Down": (grpc.unary_stream_rpc_method_handler, self.down),
            "Up": (grpc.stream_unary_rpc_method_handler, self.up),
            "Both": (grpc.stream_stream_rpc_method_handler, self.both),
            "Refuse": (grpc.unary_unary_rpc_method_handler, self.refuse),
            "Hang": (grpc.unary_unary_rpc_method_handler, self.hang),
        }
        if name not in kinds:
            return None
        kind, function = kinds[name]
        return kind(function, request_deserializer=identity, response_serializer=identity)

    def unary(self, request, context):
        context.set_trailing_metadata((("x-length", str(len(request))), ("x-data-bin", b"\x00\xff")))
        return request

    def down(self, request, context):
        for number in range(int(request)):
            yield str(number).encode()

    def up(self, requests, context):
        return str(sum(len(request) for request in requests)).encode()

    def both(self, requests, context):
        for request in requests:
            yield request[::-1]

    def refuse(self, request, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not today: \u00e4")

    def hang(self, request, context):
        ended = threading.Event()
        context.add_callback(ended.set)
        ended.wait(20)
        return b""


async def echo_socket(socket):
    if socket.request.headers.get("Authorization"):
        await socket.send("the token came through")
    async for message in socket:
        if message == "close":
            await socket.close(4321, "as asked")
            return
        await socket.send(message)


async def serve():
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((Echo(),))
    grpc_port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    async with serve_websockets(echo_socket, "127.0.0.1", 0, max_size=None) as sockets:
        print(grpc_port, sockets.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
    server.stop(0)


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: {found!r:.200}, not {expected!r:.200}")


def ask_grpc(host, certificate, token):
    with open(certificate, "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    port = host.rsplit(":", 1)[1]
    with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
        metadata = (("authorization", f"Bearer {token}"),)
        of = {
            "Unary": channel.unary_unary, "Down": channel.unary_stream, "Up": channel.stream_unary,
            "Both": channel.stream_stream, "Refuse": channel.unary_unary, "Hang": channel.unary_unary,
        }

        def call(name, request, **more):
            method = of[name](f"/echo.Echo/{name}", identity, identity)
            return method(request, timeout=more.get("timeout", 20), metadata=more.get("metadata", metadata))

        method = channel.unary_unary("/echo.Echo/Unary", identity, identity)
        for message in (b"", b"x", bytes(range(256)) * 4_000):
            answer, done = method.with_call(message, timeout=20, metadata=metadata)
            expect(answer, message, "Unary")
            trailers = dict(done.trailing_metadata())
            expect(trailers.get("x-length"), str(len(message)), "a trailer")
            expect(trailers.get("x-data-bin"), b"\x00\xff", "a binary trailer")
        expect(list(call("Down", b"1000")), [str(number).encode() for number in range(1000)], "Down")
        expect(call("Up", iter([b"x" * 10_000] * 50)), b"500000", "Up")
        words = [b"abc", b"", b"de" * 10_000]
        expect(list(call("Both", iter(words))), [word[::-1] for word in words], "Both")
        for name, code, details, more in (
            ("Refuse", grpc.StatusCode.FAILED_PRECONDITION, "not today: \u00e4", {}),
            ("Hang", grpc.StatusCode.DEADLINE_EXCEEDED, None, {"timeout": 3}),
            ("Unary", grpc.StatusCode.UNAUTHENTICATED, None, {"metadata": ()}),
        ):
            try:
                call(name, b"", **more)
                sys.exit(f"{name}: it is answered")
            except grpc.RpcError as error:
                expect(error.code(), code, name)
                if details:
                    expect(error.details(), details, name)


async def ask_websockets(host, certificate, token):
    context = ssl.create_default_context(cafile=certificate)
    port = host.rsplit(":", 1)[1]
    address = f"wss://localhost:{port}/socket"
    fields = {"Authorization": f"Bearer {token}"}
    async with connect(address, ssl=context, additional_headers=fields, max_size=None) as socket:
        expect(await socket.recv(), "the token came through", "the token")
        for message in ("text \u00e4", b"", b"\x00\xff" * 1_000_000, "y" * 100_000):
            await socket.send(message)
            expect(await socket.recv(), message, "a message")
        await asyncio.wait_for(await socket.ping(), 20)
        await socket.send("close")
        try:
            await socket.recv()
            sys.exit("the socket is not closed")
        except websockets.ConnectionClosed as closed:
            expect((closed.rcvd.code, closed.rcvd.reason), (4321, "as asked"), "the end")
    try:
        async with connect(address, ssl=context):
            sys.exit("a socket without a token is opened")
    except websockets.InvalidStatus as refused:
        expect(refused.response.status_code, 401, "a socket without a token")


if sys.argv[1] == "serve":
    asyncio.run(serve())
else:
    ask_grpc(*sys.argv[2:])
    asyncio.run(ask_websockets(*sys.argv[2:]))
    print("passed")

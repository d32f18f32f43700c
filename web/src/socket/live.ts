import type { Failure } from "../generated/Failure";
import type { LiveReply } from "../generated/LiveReply";
import type { LiveRequest } from "../generated/LiveRequest";
import type { Query } from "../generated/Query";
import type { View } from "../generated/View";
import { retryDelay } from "./backoff";
import type { Host, SocketLike } from "./host";

/** What the live socket tells. */
export interface LiveEvents {
  opened(): void;
  /** The connection broke or did not come about; it is tried again by itself. */
  lost(): void;
  view(view: View): void;
  failed(failure: Failure): void;
}

/** The socket on which a session's views arrive, taken up again whenever it breaks. */
export class LiveSocket {
  private socket: SocketLike | null = null;
  private query: Query | null = null;
  private open = false;
  private failures = 0;
  private calledOff: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly events: LiveEvents,
  ) {
    this.connect();
  }

  /** Asks a question; the last one is asked again after each reconnection. */
  ask(query: Query): void {
    this.query = query;
    if (this.open) this.send(query);
  }

  /** Ends the connection for good. */
  close(): void {
    this.calledOff();
    const socket = this.socket;
    this.socket = null;
    this.open = false;
    socket?.close();
  }

  private connect(): void {
    const socket = this.host.connect(this.path);
    this.socket = socket;
    socket.onopen = () => {
      this.open = true;
      this.failures = 0;
      if (this.query) this.send(this.query);
      this.events.opened();
    };
    socket.onmessage = (event) => this.receive(String(event.data));
    socket.onclose = () => {
      if (this.socket === socket) this.broke();
    };
  }

  private broke(): void {
    this.socket = null;
    this.open = false;
    this.failures += 1;
    this.calledOff = this.host.later(retryDelay(this.failures), () => this.connect());
    this.events.lost();
  }

  private send(query: Query): void {
    const request: LiveRequest = { type: "query", query };
    this.socket?.send(JSON.stringify(request));
  }

  private receive(text: string): void {
    const reply = JSON.parse(text) as LiveReply;
    if (reply.type === "view") this.events.view(reply.view);
    else this.events.failed(reply.error);
  }
}

import type { BlocksQuestion } from "../generated/BlocksQuestion";
import type { Failure } from "../generated/Failure";
import type { LiveReply } from "../generated/LiveReply";
import type { LiveRequest } from "../generated/LiveRequest";
import type { Query } from "../generated/Query";
import type { RuleDetails } from "../generated/RuleDetails";
import type { RuleText } from "../generated/RuleText";
import type { SelectionCount } from "../generated/SelectionCount";
import type { View } from "../generated/View";
import type { WantedLines } from "../lines/reader";
import { retryDelay } from "./backoff";
import type { Host, SocketLike } from "./host";

/** Which of the values of a list are asked for: all of them unless it says otherwise. */
export interface ListedPart {
  /** The number of values to skip. */
  from?: number;
  /** A text that the values contain. */
  search?: string;
  /** The bounds of spans of time in which the records of each value are counted. */
  bounds?: readonly number[];
}

/** The events of a live socket. */
export interface LiveEvents {
  opened(): void;
  /**
   * The connection broke or could not be opened, `failures` times since one was open; the socket
   * reconnects by itself.
   */
  lost(failures: number): void;
  view(view: View): void;
  /** A query was refused; `null` if the server cannot tell which. */
  failed(failure: Failure, query: number | null): void;
  /** What a query of `count` selects; `null` if it is not valid. */
  counted(count: SelectionCount | null, query: number | null): void;
  /** An answer to the rules of a panel, or a refusal of them. */
  ruled(reply: Extract<LiveReply, { type: "rules" }>): void;
  /** Lines of a panel of lines, or a refusal of them. */
  lined(reply: Extract<LiveReply, { type: "lines" }>): void;
  /** The values of a field, or a refusal of them. */
  listed(reply: Extract<LiveReply, { type: "list" }>): void;
  /** A measure over time, or a refusal of it. */
  measured(reply: Extract<LiveReply, { type: "series" }>): void;
  /** An answer about the blocks of the logs, or a refusal. */
  blocked(reply: Extract<LiveReply, { type: "blocks" }>): void;
}

/** Receives the views of a session, and reconnects whenever the connection breaks. */
export class LiveSocket {
  private socket: SocketLike | null = null;
  private query: Query | null = null;
  /** The question of each panel, which is answered until it is replaced. */
  private readonly panels = new Map<number, LiveRequest>();
  private isOpen = false;
  /** Failed connections in a row. */
  private failures = 0;
  private cancelTimer: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly events: LiveEvents,
  ) {
    this.connect();
  }

  /** Sends a query. The last one is sent again after each reconnection. */
  ask(query: Query): void {
    this.query = query;
    if (this.isOpen) this.send({ type: "query", query });
  }

  /** Asks what a query selects, which replaces the previous count; `null` only cancels that. */
  count(query: Query | null): void {
    if (this.isOpen) this.send({ type: "count", query });
  }

  /** Asks about rules, which replace the previous ones of the panel; `null` only cancels those. */
  askRules(panel: number, query: Query, rule: RuleText | null, details: RuleDetails = {}): void {
    const request: LiveRequest = { type: "rules", panel, query, rule, details };
    if (rule === null) this.panels.delete(panel);
    else this.panels.set(panel, request);
    if (this.isOpen) this.send(request);
  }

  /** Asks what tripped the rules in force, instead of the question before in the panel. */
  askBlocks(panel: number, query: Query, question: BlocksQuestion | null): void {
    const request: LiveRequest = { type: "blocks", panel, query, question };
    if (question === null) this.panels.delete(panel);
    else this.panels.set(panel, request);
    if (this.isOpen) this.send(request);
  }

  /** Asks for lines, instead of those before in the panel. Without a connection it does nothing. */
  askLines(panel: number, query: Query, wanted: WantedLines): void {
    if (this.isOpen) this.send({ type: "lines", panel, query, ...wanted });
  }

  /** Asks for the values of a field, instead of those before in the list; `null` only cancels those. */
  askList(panel: number, query: Query | null, part: ListedPart): void {
    const { from = 0, search = "", bounds = [] } = part;
    if (this.isOpen) this.send({ type: "list", panel, query, from, search, bounds: [...bounds] });
  }

  /** Asks for measures over time, instead of those before; `null` only cancels those. */
  askSeries(query: Query | null, bounds: readonly number[], map: string | null): void {
    const request = { type: "series" as const, query, bounds: [...bounds] };
    if (this.isOpen) this.send({ ...request, ...(map !== null && { map }) });
  }

  /** Closes the connection permanently. */
  close(): void {
    this.cancelTimer();
    const socket = this.socket;
    this.socket = null;
    this.isOpen = false;
    socket?.close();
  }

  private connect(): void {
    const socket = this.host.connect(this.path);
    this.socket = socket;
    socket.onopen = () => {
      this.isOpen = true;
      this.failures = 0;
      if (this.query) this.send({ type: "query", query: this.query });
      for (const request of this.panels.values()) this.send(request);
      this.events.opened();
    };
    socket.onmessage = (event) => this.receive(String(event.data));
    socket.onclose = () => {
      if (this.socket === socket) this.reconnect();
    };
  }

  private reconnect(): void {
    this.socket = null;
    this.isOpen = false;
    this.failures += 1;
    this.cancelTimer = this.host.later(retryDelay(this.failures), () => this.connect());
    this.events.lost(this.failures);
  }

  private send(request: LiveRequest): void {
    this.socket?.send(JSON.stringify(request));
  }

  private receive(text: string): void {
    const reply = JSON.parse(text) as LiveReply;
    if (reply.type === "view") this.events.view(reply.view);
    else if (reply.type === "count") this.events.counted(reply.count ?? null, reply.query);
    else if (reply.type === "rules") this.events.ruled(reply);
    else if (reply.type === "lines") this.events.lined(reply);
    else if (reply.type === "list") this.events.listed(reply);
    else if (reply.type === "series") this.events.measured(reply);
    else if (reply.type === "blocks") this.events.blocked(reply);
    else this.events.failed(reply.error, reply.query);
  }
}

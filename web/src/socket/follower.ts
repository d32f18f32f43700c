import type { Failure } from "../generated/Failure";
import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import { retryDelay } from "./backoff";
import { type Handle, Mark } from "./growing";
import type { Host, SocketLike } from "./host";
import type { JobPhase, Sending } from "./job";
import { MIB } from "./policy";
import { RateMeter } from "./rate";

/** How often a file is looked at, so that new lines are seen well within 200 ms. */
export const LOOK_MS = 100;
/** The same while nobody sees the page. */
export const LOOK_MS_HIDDEN = 1_000;
/** Bytes that are read at once. */
const READ_BYTES = 4 * MIB;

/** After so many looks in vain there is no last one to be had. */
const MISSES_MAX = 5;

/** Where following begins. */
export interface Start {
  /** In bytes of the file. */
  offset: number;
  /** The bytes before it, where they are known. */
  mark: Mark | null;
  /** The id of what was read before, whose format the lines have. */
  continues: string | null;
}

const REPLACED = "The file was truncated or replaced; from there it is read anew.";
const TORN =
  "The last line was not finished when the file was read; its rest counts as a line of its own.";
const LOST =
  "The file was truncated or replaced while the connection was lost; what was not yet read of it is missing.";

/** What one file was between two truncations: a source of its own. */
class Piece implements Sending {
  readonly bytes_total = null;
  readonly isFollowable = false;
  readonly plan = null;
  phase: JobPhase = "waiting";
  message: string | null = null;
  /** Bytes that were handed to the socket; the first of them lies at `start.offset`. */
  sent = 0;
  acked = 0;
  window_bytes = 0;
  isEnded = false;
  /** The file is another one by now. */
  isCut = false;
  private readonly meter = new RateMeter();

  constructor(
    readonly file: string,
    readonly name: string,
    readonly start: Start,
  ) {}

  get isOver(): boolean {
    return this.phase === "done" || this.phase === "failed" || this.phase === "cancelled";
  }

  /** Where in the file the next byte lies. */
  get at(): number {
    return this.start.offset + this.sent;
  }

  acknowledge(now_ms: number, offset: number): void {
    this.acked = Math.max(this.acked, offset);
    this.meter.add(now_ms, this.acked);
  }

  rate(now_ms: number): number {
    return this.phase === "reading" ? this.meter.rate(now_ms) : 0;
  }
}

/**
 * Sends what a file has, and then what is appended to it, until it is told to stop.
 *
 * The file is looked at again and again, for browsers do not tell of changes. Where it became
 * shorter, or the bytes before the place that was read are not what they were, it is another
 * file, or was truncated: what was read of it is ended, and it begins anew.
 */
export class Follower {
  /** All pieces, the present one last. */
  readonly pieces: Piece[] = [];
  private socket: SocketLike | null = null;
  /** The server takes bytes of the present piece. */
  private isReady = false;
  private isLooking = false;
  private isStopping = false;
  private mark: Mark | null;
  /** The file as it was when it was last found to be the same. */
  private seen: { size: number; lastModified: number } | null = null;
  private failures = 0;
  /** Looks in a row that did not come about. */
  private misses = 0;
  private calledOff: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly handle: Handle,
    private readonly name: string,
    start: Start,
    private readonly newId: () => string,
    private readonly changed: () => void,
  ) {
    this.mark = start.mark;
    this.add(start);
    if (start.mark?.isLineEnd === false) this.piece.message = TORN;
    this.connect();
  }

  get isOver(): boolean {
    return this.piece.isOver;
  }

  /** True while what is there already is on its way. */
  get isBusy(): boolean {
    return !this.isOver && this.piece.phase !== "following";
  }

  has(file: string): boolean {
    return this.pieces.some((piece) => piece.file === file);
  }

  /** Reads what there is, a last line without an end included, and ends. */
  stop(): void {
    this.isStopping = true;
    void this.look();
  }

  /** Ends at once. */
  abort(message: string): void {
    if (!this.isOver) this.over("failed", message);
  }

  private get piece(): Piece {
    return this.pieces.at(-1)!;
  }

  private add(start: Start): void {
    this.pieces.push(new Piece(this.newId(), this.name, start));
    this.changed();
  }

  private connect(): void {
    const socket = this.host.connect(this.path);
    this.socket = socket;
    socket.onopen = () => this.begin();
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as UploadReply);
    socket.onclose = () => {
      if (this.socket === socket) this.broke();
    };
  }

  private begin(): void {
    const { file, name, start } = this.piece;
    const continues = start.continues === null ? {} : { continues: start.continues };
    this.say({ type: "begin", file, name, bytes_total: null, ...continues });
  }

  private receive(reply: UploadReply): void {
    const piece = this.piece;
    const file = reply.type === "error" ? reply.error.file : reply.file;
    if (file !== null && file !== piece.file) return;
    switch (reply.type) {
      case "ready":
        this.failures = 0;
        // What was on its way when a connection was lost is sent again.
        piece.sent = reply.offset;
        piece.window_bytes = reply.window_bytes;
        piece.phase = "reading";
        piece.isEnded = false;
        this.isReady = true;
        if (piece.isCut) {
          this.end(piece, piece.message);
          return;
        }
        break;
      case "ack":
        piece.acknowledge(this.host.now(), reply.offset);
        break;
      case "done":
        piece.acknowledge(this.host.now(), reply.offset);
        this.ended(piece);
        return;
      case "error":
        this.refused(reply.error);
        return;
    }
    this.changed();
    // The window may have room again; otherwise the next look is due in its own time.
    if (reply.type === "ready" || piece.phase === "reading") void this.look();
  }

  private refused(error: Failure): void {
    if (error.name !== "file_busy") {
      this.over("failed", error.message);
      return;
    }
    this.calledOff();
    this.calledOff = this.host.later(retryDelay(1), () => this.begin());
  }

  /** A piece is read to its end: the file was replaced, or is not to be followed any more. */
  private ended(piece: Piece): void {
    if (this.isStopping) {
      this.over("done", piece.message);
      return;
    }
    piece.phase = "done";
    this.isReady = false;
    this.add({ offset: 0, mark: null, continues: piece.file });
    this.begin();
  }

  private over(phase: "done" | "failed", message: string | null): void {
    this.calledOff();
    const socket = this.socket;
    this.socket = null;
    this.isReady = false;
    socket?.close();
    this.piece.phase = phase;
    this.piece.message = message;
    this.changed();
  }

  private broke(): void {
    this.calledOff();
    this.socket = null;
    this.isReady = false;
    this.failures += 1;
    this.piece.phase = "interrupted";
    this.changed();
    this.calledOff = this.host.later(retryDelay(this.failures), () => this.connect());
  }

  /** Looks at the file, and again when it is time to. */
  private async look(): Promise<void> {
    const piece = this.piece;
    if (this.isLooking || !this.isReady || piece.isEnded) return;
    this.isLooking = true;
    this.calledOff();
    let hasMore = false;
    try {
      hasMore = await this.read(piece);
      this.misses = 0;
    } catch {
      // It is not there just now, or was changed while it was read.
      this.misses += 1;
      if (this.isStopping && this.misses >= MISSES_MAX) this.end(piece, piece.message);
    }
    this.isLooking = false;
    if (this.piece !== piece || !this.isReady || piece.isEnded) return;
    if (hasMore) return void this.look();
    const pause_ms = this.host.isHidden() ? LOOK_MS_HIDDEN : LOOK_MS;
    this.calledOff = this.host.later(pause_ms, () => void this.look());
  }

  /** Sends what is new, up to a bound; true where there is more at once. */
  private async read(piece: Piece): Promise<boolean> {
    const file = await this.handle.getFile();
    if (file.size < piece.at) return this.replaced(piece);
    this.mark ??= await this.firstMark(piece, file);
    const isSeen = this.seen?.size === file.size && this.seen.lastModified === file.lastModified;
    const room = piece.window_bytes - (piece.sent - piece.acked);
    const size = Math.min(file.size - piece.at, READ_BYTES, room);
    if (isSeen && size <= 0) return this.rest(piece, file);
    const isBehind = this.mark.end === piece.at;
    if (!isBehind && !(await this.mark.isIn(file))) return this.replaced(piece);
    const from = isBehind ? this.mark.from : piece.at;
    const bytes = new Uint8Array(
      await file.slice(from, piece.at + Math.max(0, size)).arrayBuffer(),
    );
    // While it was read the connection may have been lost.
    if (this.piece !== piece || !this.isReady) return false;
    const known = piece.at - from;
    if (isBehind && !this.mark.fits(bytes.subarray(0, known))) return this.replaced(piece);
    this.seen = { size: file.size, lastModified: file.lastModified };
    const fresh = bytes.slice(known);
    if (fresh.length > 0) {
      this.mark = Mark.behind(from, bytes);
      this.socket?.send(fresh.buffer);
      piece.sent += fresh.length;
    }
    return this.rest(piece, file);
  }

  /** What to do when no more can be sent for now. */
  private rest(piece: Piece, file: File): boolean {
    const isAll = piece.at >= file.size;
    if (isAll && this.isStopping) this.end(piece, piece.message);
    const phase = isAll ? "following" : "reading";
    if (piece.phase !== phase) {
      piece.phase = phase;
      this.changed();
    }
    return !isAll && piece.sent - piece.acked < piece.window_bytes;
  }

  private async firstMark(piece: Piece, file: File): Promise<Mark> {
    const mark = await Mark.at(file, piece.at);
    if (!mark.isLineEnd) piece.message = TORN;
    return mark;
  }

  private replaced(piece: Piece): boolean {
    if (piece.isEnded || this.piece !== piece || !this.isReady) return false;
    const isLost = this.mark !== null && this.mark.end > piece.at;
    piece.isCut = true;
    this.mark = null;
    this.seen = null;
    this.end(piece, isLost ? LOST : REPLACED);
    return false;
  }

  private end(piece: Piece, message: string | null): void {
    if (!this.isReady || piece.isEnded) return;
    piece.isEnded = true;
    piece.message = message;
    this.say({ type: "end", file: piece.file });
    this.changed();
  }

  private say(request: UploadRequest): void {
    this.socket?.send(JSON.stringify(request));
  }
}

import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import type { Host, SocketLike } from "./host";

/** A second connection that helps a lane to send its file. */
export class Partner {
  /** True while blocks of the file can be sent on it. */
  isJoined = false;
  /** Where its last block ends; nothing of the file went over it where this is 0. */
  sentTo = 0;
  private readonly socket: SocketLike;

  constructor(
    host: Host,
    path: string,
    private readonly file: string,
    /** It joined. */
    private readonly joined: () => void,
    /** It was lost, or refused. */
    private readonly lost: () => void,
  ) {
    const socket = host.connect(path);
    this.socket = socket;
    socket.onopen = () => this.say({ type: "join", file });
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as UploadReply);
    socket.onclose = () => this.end();
  }

  /** Sends a block of the file. */
  send(offset: number, bytes: Blob): void {
    if (offset !== this.sentTo || offset === 0)
      this.say({ type: "block", file: this.file, offset });
    this.socket.send(bytes);
    this.sentTo = offset + bytes.size;
  }

  /** Gives the connection back. */
  close(): void {
    this.isJoined = false;
    this.socket.onmessage = null;
    this.socket.onclose = null;
    this.socket.close();
  }

  private receive(reply: UploadReply): void {
    if (reply.type === "joined") {
      this.isJoined = true;
      this.joined();
    } else if (reply.type === "error") {
      this.close();
      this.lost();
    }
  }

  private end(): void {
    this.isJoined = false;
    this.lost();
  }

  private say(request: UploadRequest): void {
    this.socket.send(JSON.stringify(request));
  }
}

import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import type { Host, SocketLike } from "../socket/host";

/** A second connection for the blocks of one file, beside an `UploadConnection`. */
export class SecondConnection {
  /** Whether blocks of the file can be sent on it. */
  isJoined = false;
  /** End of its last block in bytes of the file; 0 if it has sent none. */
  sentTo = 0;
  private readonly socket: SocketLike;

  constructor(
    host: Host,
    path: string,
    private readonly file: string,
    /** Called when the server has accepted it. */
    private readonly onJoined: () => void,
    /** Called when it was lost or refused. */
    private readonly onLost: () => void,
  ) {
    const socket = host.connect(path);
    this.socket = socket;
    socket.onopen = () => this.request({ type: "join", file });
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as UploadReply);
    socket.onclose = () => this.lose();
  }

  /** Sends a block of the file. */
  send(offset: number, bytes: Blob): void {
    if (offset !== this.sentTo || offset === 0) {
      this.request({ type: "block", file: this.file, offset });
    }
    this.socket.send(bytes);
    this.sentTo = offset + bytes.size;
  }

  /** Closes the connection without calling `onLost`. */
  close(): void {
    this.isJoined = false;
    this.socket.onmessage = null;
    this.socket.onclose = null;
    this.socket.close();
  }

  private receive(reply: UploadReply): void {
    if (reply.type === "joined") {
      this.isJoined = true;
      this.onJoined();
    } else if (reply.type === "error") {
      this.close();
      this.onLost();
    }
  }

  private lose(): void {
    this.isJoined = false;
    this.onLost();
  }

  private request(request: UploadRequest): void {
    this.socket.send(JSON.stringify(request));
  }
}

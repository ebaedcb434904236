/**
 * Where the responses of one watch go: the transport's end of it. The verb sends one response after another and keeps
 * few of them on their way (`WatchLimits.inFlight`); it ends by returning or throwing, and the transport then tells the
 * client.
 */
export interface WatchSink {
  /** The watch was accepted, though it may have nothing to send for a while. Called once, before anything is sent. */
  begin(): void;
  /**
   * Sends one encoded response behind FRAME_HEADER_BYTES of a gRPC frame's header, which another transport skips. The
   * bytes are shared with other watches: they must not be changed. Calls `taken` when they have left this process; for
   * a client that is gone, never.
   */
  send(frame: Buffer, taken: () => void): void;
  /** The client does not read: breaks the stream off where it cannot even take the error that the verb throws next. */
  cutOff(): void;
}

import type { Outcome } from './command-frames.ts';

/** Which streams of a command a client wants. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A client of exec or attach, over any of the protocols for it. */
export interface CommandPeer {
  /** Frames of PodExecRequest, encoded. */
  readonly input: AsyncIterableIterator<Buffer>;
  /** Resolves when there is room for more. Throws UNAVAILABLE when the server stops, CANCELLED without a client. */
  send(channel: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void>;
  /** Tells the client how it ended, and closes the connection. */
  end(outcome: Outcome): void;
}

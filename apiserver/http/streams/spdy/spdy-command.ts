import { ApiError, callCancelled } from '../../../../api/errors/index.ts';
import { abortable } from '../../../tunnel/abortable.ts';
import { stopping } from '../../../tunnel/forward.ts';
import { closeFrame, type Outcome, resizeFrame, stdinFrame } from '../command-frames.ts';
import type { CommandPeer, CommandStreams } from '../command-peer.ts';
import { InputQueue } from '../input-queue.ts';
import type { Upgrade } from '../upgrade.ts';
import type { SpdyConnection, SpdyStream } from './spdy-connection.ts';
import { chooseProtocol, openSpdy } from './spdy-upgrade.ts';

const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'];

/** How long a client may take to open its streams. */
const openMs = 30_000;
/** How long it may take to close the connection in the end. */
const closeMs = 30_000;
const closeWhenStoppingMs = 1_000;
/** In characters: a size is about 30. */
const mostResize = 4_096;

/** Throws BAD_REQUEST where the client speaks none of the protocols. */
export const checkSpdyProtocols = (upgrade: Upgrade): string => chooseProtocol(upgrade, protocols);

/**
 * Answers the request by SPDY/3.1, and waits for the streams of the command. Throws DEADLINE_EXCEEDED where the client
 * does not open them, and CANCELLED without a client.
 */
export async function openSpdyCommand(upgrade: Upgrade, wanted: CommandStreams, signal: AbortSignal): Promise<CommandPeer> {
  const protocol = checkSpdyProtocols(upgrade);
  const isFirst = protocol === 'channel.k8s.io';
  const hasResize = wanted.tty && !isFirst && !protocol.startsWith('v2.');
  const names = ['error', ...(['stdin', 'stdout', 'stderr'] as const).filter((each) => wanted[each])];
  const expected = new Set(hasResize ? [...names, 'resize'] : names);
  const streams = new Map<string, SpdyStream>();
  let allOpened = (): void => {};
  const opened = new Promise<void>((resolve) => {
    allOpened = resolve;
  });
  const connection = openSpdy(upgrade, protocol, {
    mostStreams: expected.size,
    accept(stream) {
      const type = stream.headers.get('streamtype') ?? '';
      if (!expected.has(type) || streams.has(type)) return undefined;
      streams.set(type, stream);
      return () => {
        if (streams.size === expected.size) allOpened();
      };
    },
  });
  const ended = connection.run();
  const late = new ApiError('DEADLINE_EXCEEDED', 'Timeout', 'timed out waiting for client to create streams');
  let timer: NodeJS.Timeout | undefined;
  try {
    const failed = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(late), openMs);
      void ended.then(() => reject(callCancelled()));
    });
    failed.catch(() => {});
    await abortable(Promise.race([opened, failed]), signal, stopping);
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return new SpdyCommandPeer(connection, streams, { hasStatus: /^v[45]\./.test(protocol), signal, ended });
}

interface PeerOptions {
  readonly hasStatus: boolean;
  readonly signal: AbortSignal;
  readonly ended: Promise<void>;
}

class SpdyCommandPeer implements CommandPeer {
  readonly input: AsyncIterableIterator<Buffer>;
  readonly #connection: SpdyConnection;
  readonly #streams: ReadonlyMap<string, SpdyStream>;
  readonly #options: PeerOptions;

  constructor(connection: SpdyConnection, streams: ReadonlyMap<string, SpdyStream>, options: PeerOptions) {
    this.#connection = connection;
    this.#streams = streams;
    this.#options = options;
    const queue = new InputQueue();
    this.input = queue.frames();
    void readInput(streams.get('stdin'), queue);
    void readSizes(streams.get('resize'), queue);
    void options.ended.then(() => queue.cut());
  }

  async send(channel: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    await this.#streams.get(channel)?.write(bytes, this.#options.signal);
  }

  end({ status, text }: Outcome): void {
    this.#say(this.#options.hasStatus ? JSON.stringify(status) : text).catch(() => {});
    this.#connection.closeWithin(this.#options.signal.aborted ? closeWhenStoppingMs : closeMs);
  }

  async #say(text: string): Promise<void> {
    const streams = [...this.#streams].filter(([name]) => name !== 'error').map(([, stream]) => stream);
    await Promise.all(streams.map((stream) => stream.end()));
    const errors = this.#streams.get('error');
    if (text !== '') await errors?.write(Buffer.from(text));
    await errors?.end();
  }
}

async function readInput(stream: SpdyStream | undefined, queue: InputQueue): Promise<void> {
  if (!stream) return;
  for await (const bytes of stream.input()) await queue.push(stdinFrame(bytes));
  if (!stream.isReset) await queue.push(closeFrame());
}

/** Sizes come as JSON, each with a line's end behind it, in frames that need not hold one each. */
async function readSizes(stream: SpdyStream | undefined, queue: InputQueue): Promise<void> {
  if (!stream) return;
  let text = '';
  for await (const bytes of stream.input()) {
    text += bytes.toString('latin1');
    const sizes = text.split('\n');
    text = sizes.pop()!.slice(0, mostResize);
    // A terminal has one size: those before it are of the past.
    const frame = sizes.map(resizeFrame).findLast((each) => each !== undefined);
    if (frame) await queue.push(frame);
  }
}

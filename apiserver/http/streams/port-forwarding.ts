import type { Duplex } from 'node:stream';
import { asApiError } from '../../../api/errors/index.ts';
import { sendBytes } from './send-bytes.ts';

/** How ports of one pod are reached. */
export interface Forwarding {
  /** Throws what `Tunnels.open` throws; the agent's errors come with the first read. */
  connect(port: number): Promise<Duplex>;
  /** The sentence that the client gets for a failure. */
  describe(port: number, error: string): string;
  readonly signal: AbortSignal;
}

/** One connection to a port, as its client sees it. */
export interface ForwardedClient {
  input(): AsyncIterable<Buffer>;
  /** Whether the client wants nothing more of it. */
  readonly isReset: boolean;
  whenReset(listener: () => void): void;
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
}

/**
 * Joins a client with a port until the pod has said all, or the client is gone: kubectl ends its connection with the
 * pod's end. Gives what went wrong, as a sentence.
 */
export async function forwardConnection(
  { connect, describe, signal }: Forwarding,
  port: number,
  client: ForwardedClient,
): Promise<string | undefined> {
  let pod: Duplex | undefined;
  try {
    pod = await connect(port);
    await join(pod, client, signal);
    return undefined;
  } catch (error) {
    if (client.isReset) return undefined;
    return describe(port, asApiError(error)?.message ?? 'the connection failed by a fault of the server');
  } finally {
    pod?.destroy();
  }
}

async function join(pod: Duplex, client: ForwardedClient, signal: AbortSignal): Promise<void> {
  pod.on('error', () => {});
  client.whenReset(() => pod.destroy());
  // Input that cannot be delivered any more is of no interest: what counts is how the pod's side ends.
  sendInput(pod, client).catch(() => {});
  for await (const bytes of pod) await client.write(bytes as Buffer, signal);
}

async function sendInput(pod: Duplex, client: ForwardedClient): Promise<void> {
  for await (const bytes of client.input()) await sendBytes(pod, bytes);
  if (!client.isReset) pod.end();
}

export function portOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

import { once } from 'node:events';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { badRequest, callCancelled } from '../../../api/errors/index.ts';
import { stopping } from '../../tunnel/forward.ts';
import { closeFrame, type Outcome, resizeFrame, stdinFrame } from './command-frames.ts';
import type { CommandPeer } from './command-peer.ts';
import { InputQueue } from './input-queue.ts';
import type { Upgrade } from './upgrade.ts';

/** The subprotocols of commands, the best first. */
const protocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'base64.channel.k8s.io',
] as const;
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
/** Clients send pieces of 32 KiB; one message is all that is held of a client. */
const mostMessageBytes = 1024 * 1024;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: mostMessageBytes,
  handleProtocols: (offered) => chosenOf([...offered]) ?? false,
});

const chosenOf = (offered: readonly string[]): string | undefined => protocols.find((each) => offered.includes(each));

/** Throws BAD_REQUEST where the client speaks none of the subprotocols. */
export function checkProtocols({ request }: Upgrade): void {
  const text = request.headers['sec-websocket-protocol'] ?? '';
  const offered = text.split(',').map((each) => each.trim());
  if (text !== '' && chosenOf(offered) === undefined)
    throw badRequest(`the server speaks none of the subprotocols "${text.slice(0, 200)}": offer one of ${protocols.join(', ')}`);
}

/** Answers the request by a WebSocket, and carries a command's streams as channels of it. Throws CANCELLED. */
export async function openWebSocket(upgrade: Upgrade, signal: AbortSignal): Promise<CommandPeer> {
  const { request, head } = upgrade;
  const socket = upgrade.take();
  const opened = new Promise<WebSocket>((resolve) => server.handleUpgrade(request, socket, head, resolve));
  // The library refuses a bad handshake by itself, and closes.
  const ws = await Promise.race([opened, once(socket, 'close').then(() => undefined)]);
  if (!ws) throw callCancelled();
  return new WebSocketPeer(ws, signal);
}

class WebSocketPeer implements CommandPeer {
  readonly input: AsyncIterableIterator<Buffer>;
  readonly #ws: WebSocket;
  readonly #signal: AbortSignal;
  readonly #isBase64: boolean;
  readonly #hasStatus: boolean;

  constructor(ws: WebSocket, signal: AbortSignal) {
    this.#ws = ws;
    this.#signal = signal;
    this.#isBase64 = ws.protocol.includes('base64');
    this.#hasStatus = /^v[45]\./.test(ws.protocol);
    const queue = new InputQueue();
    this.input = queue.frames();
    ws.on('message', (data: RawData) => {
      const frame = this.#frameOf(data as Buffer);
      if (!frame) return;
      ws.pause();
      void queue.push(frame).then(() => {
        if (queue.isEmpty) ws.resume();
      });
    });
    ws.on('close', () => queue.end());
    ws.on('error', () => ws.terminate());
  }

  #frameOf(message: Buffer): Buffer | undefined {
    const [first] = message;
    if (first === undefined) return undefined;
    const channel = this.#isBase64 ? first - 48 : first;
    const rest = this.#isBase64 ? Buffer.from(message.subarray(1).toString('latin1'), 'base64') : message.subarray(1);
    if (channel === channels.stdin) return rest.length > 0 ? stdinFrame(rest) : undefined;
    if (channel === channels.resize) return resizeFrame(rest.toString('utf8'));
    return channel === channels.close && rest[0] === channels.stdin ? closeFrame() : undefined;
  }

  send(channel: 'stdout' | 'stderr' | 'error', bytes: Uint8Array): Promise<void> {
    const number = channels[channel];
    const message = this.#isBase64
      ? `${number}${Buffer.from(bytes).toString('base64')}`
      : Buffer.concat([Buffer.from([number]), bytes]);
    return new Promise((resolve, reject) => {
      const aborted = (): void => reject(stopping());
      if (this.#signal.aborted && channel !== 'error') return aborted();
      this.#signal.addEventListener('abort', aborted);
      this.#ws.send(message, { binary: !this.#isBase64 }, (error) => {
        this.#signal.removeEventListener('abort', aborted);
        if (error) reject(callCancelled());
        else resolve();
      });
    });
  }

  end({ status, text }: Outcome): void {
    const said = this.#hasStatus ? JSON.stringify(status) : text;
    if (said !== '') this.send('error', Buffer.from(said)).catch(() => {});
    this.#ws.close(1000);
    // The answer to the close is of interest, not what else comes.
    this.#ws.resume();
  }
}

import type { WebSocket } from 'ws';
import { ChannelSocket } from './channel-socket.ts';
import { closeFrame, type Outcome, resizeFrame, stdinFrame } from './command-frames.ts';
import type { CommandPeer, CommandStreams } from './command-peer.ts';
import { InputQueue } from './input-queue.ts';
import type { Upgrade } from './upgrade.ts';
import { WebSocketDoor } from './web-socket.ts';

const door = new WebSocketDoor([
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'base64.channel.k8s.io',
]);
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Throws BAD_REQUEST where the client speaks none of the subprotocols. */
export const checkWebSocketProtocols = (upgrade: Upgrade): string => door.protocolOf(upgrade);

/** Answers the request by a WebSocket, and carries a command's streams as channels of it. Throws CANCELLED. */
export async function openWebSocketCommand(
  upgrade: Upgrade,
  { stdout, stderr }: CommandStreams,
  signal: AbortSignal,
): Promise<CommandPeer> {
  const protocol = door.protocolOf(upgrade);
  const peer = new WebSocketPeer(await door.open(upgrade, protocol), protocol, signal);
  // Clients take the first message, though it is empty, for the beginning.
  await peer.send(stdout ? 'stdout' : stderr ? 'stderr' : 'error', Buffer.alloc(0));
  return peer;
}

class WebSocketPeer implements CommandPeer {
  readonly input: AsyncIterableIterator<Buffer>;
  readonly #socket: ChannelSocket;
  readonly #hasStatus: boolean;

  constructor(ws: WebSocket, protocol: string, signal: AbortSignal) {
    this.#hasStatus = /^v[45]\./.test(protocol);
    const hasClose = protocol.startsWith('v5.');
    const queue = new InputQueue();
    this.input = queue.frames();
    this.#socket = new ChannelSocket(ws, { isBase64: protocol.includes('base64'), signal }, (channel, bytes) => {
      const frame = frameOf(channel, bytes, hasClose);
      return frame && queue.push(frame);
    });
    ws.on('close', () => queue.end());
  }

  send(channel: 'stdout' | 'stderr' | 'error', bytes: Uint8Array): Promise<void> {
    return this.#socket.send(channels[channel], bytes);
  }

  end({ status, text }: Outcome): void {
    const said = this.#hasStatus ? JSON.stringify(status) : text;
    if (said !== '') this.#socket.send(channels.error, Buffer.from(said), true).catch(() => {});
    this.#socket.close();
  }
}

/** Only v5 knows the end of the input; in others, as in Kubernetes, that channel is one that does not exist. */
function frameOf(channel: number, bytes: Buffer, hasClose: boolean): Buffer | undefined {
  if (channel === channels.stdin) return bytes.length > 0 ? stdinFrame(bytes) : undefined;
  if (channel === channels.resize) return resizeFrame(bytes.toString('utf8'));
  return hasClose && channel === channels.close && bytes[0] === channels.stdin ? closeFrame() : undefined;
}

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { onAbort } from '../../client/abort.ts';
import { classIn, encodeName, headerSize, types } from '../names/wire.ts';

/** How a resolver was found. */
export type ProbeResult =
  | { readonly result: 'answered' }
  /** The machine answered, and nothing listens there. */
  | { readonly result: 'refused' }
  | { readonly result: 'silent' }
  /** Nothing could be sent, or what came is no answer; `why` is a clause. */
  | { readonly result: 'failed'; readonly why: string };

export interface Probe {
  readonly address: string;
  readonly port?: number;
  /** The name that is asked for; whatever the answer is. */
  readonly name: string;
  /** How large the packet is to be, IPv4 and UDP headers included; absent: as small as it can be. */
  readonly packetSize?: number;
}

/** A machine that says that nothing listens there was reached. */
export const isReached = ({ result }: ProbeResult): boolean => result === 'answered' || result === 'refused';

const dnsPort = 53;
const ipAndUdpHeaders = 28;
const tries = 2;
const tryMs = 700;
/** Of RFC 7830. */
const paddingOption = 12;
/** What an OPT record has besides its options, and an option besides its data. */
const optSize = 11;
const optionSize = 4;
/** What is taken of an answer: the flag day's size (RFC 9715). */
const answerSize = 1232;

/** Asks a resolver over UDP, twice where nothing comes back. Never throws; takes 1.4 s at most. */
export async function probeResolver(probe: Probe, signal: AbortSignal): Promise<ProbeResult> {
  let found: ProbeResult = { result: 'silent' };
  for (let n = 0; n < tries && found.result === 'silent' && !signal.aborted; n++) found = await askOnce(probe, signal);
  return found;
}

function askOnce({ address, port = dnsPort, name, packetSize = 0 }: Probe, signal: AbortSignal): Promise<ProbeResult> {
  const query = renderQuery(name, packetSize - ipAndUdpHeaders);
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    let hasEnded = false;
    const end = (found: ProbeResult): void => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      unlink();
      // Its listeners stay: Node closes a socket that is still being bound by one of its own.
      socket.close();
      resolve(found);
    };
    const timer = setTimeout(() => end({ result: 'silent' }), tryMs);
    const unlink = onAbort(signal, () => end({ result: 'silent' }));
    socket.on('error', ({ code = '', message }: NodeJS.ErrnoException) =>
      end(code === 'ECONNREFUSED' ? { result: 'refused' } : { result: 'failed', why: clauses[code] ?? message }),
    );
    socket.on('message', (answer) => {
      if (isAnswerTo(query, answer)) end({ result: 'answered' });
    });
    // A connected socket is told of errors that other machines send.
    socket.on('connect', () => {
      if (!hasEnded) socket.send(query);
    });
    socket.connect(port, address);
  });
}

const clauses: Readonly<Record<string, string>> = {
  EHOSTUNREACH: 'there is no way to it (host unreachable)',
  ENETUNREACH: 'there is no route to it',
  EMSGSIZE: 'a packet of that size cannot be sent',
  EPERM: 'a firewall of this machine refuses it',
};

/** An A query, with an EDNS record that is padded until the message has `size` bytes, or without padding. */
export function renderQuery(name: string, size: number): Buffer {
  const question = Buffer.from(encodeName(name) ?? '\0', 'latin1');
  const head = Buffer.alloc(headerSize);
  head.writeUInt16BE(randomInt(65_536), 0);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(1, 10);
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(types.a, 0);
  tail.writeUInt16BE(classIn, 2);
  const opt = Buffer.alloc(optSize);
  opt.writeUInt16BE(types.opt, 1);
  opt.writeUInt16BE(answerSize, 3);
  const bare = head.length + question.length + tail.length + opt.length;
  const padding = Math.max(0, size - bare - optionSize);
  if (padding === 0) return Buffer.concat([head, question, tail, opt]);
  opt.writeUInt16BE(optionSize + padding, 9);
  const option = Buffer.alloc(optionSize + padding);
  option.writeUInt16BE(paddingOption, 0);
  option.writeUInt16BE(padding, 2);
  return Buffer.concat([head, question, tail, opt, option]);
}

function isAnswerTo(query: Buffer, answer: Buffer): boolean {
  return answer.length >= headerSize && answer.readUInt16BE(0) === query.readUInt16BE(0) && (answer[2]! & 0x80) !== 0;
}

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { encodeQuestion, isAnswerTo, isNotUnderstood, type Question, questionEnd } from './question.ts';
import type { ServerAddress } from './servers.ts';

/** How one exchange is done; apart from time-outs, the tests replace it as a whole. */
export interface ExchangeOptions {
  readonly timeoutMs: number;
  readonly withEdns: boolean;
  /** Called for each message that is no answer to the query: forged, or for an earlier one. */
  readonly onForeign: () => void;
}

/** Asks one server once. Resolves with the message that answers; rejects after `timeoutMs`, or when it is not there. */
export type Exchange = (server: ServerAddress, question: Question, options: ExchangeOptions) => Promise<Buffer>;

/** So many wrong messages to one socket are an attack, and the query goes on over TCP. */
const maxForeign = 16;

/**
 * Over UDP with a random id from a random port, which is new for each query and hears that server only; over TCP when
 * the answer does not fit, or when others answer too.
 */
export const exchange: Exchange = async (server, question, options) => {
  const deadlineMs = performance.now() + options.timeoutMs;
  const answer = await overUdp(server, question, options);
  if (answer !== undefined && (answer[2]! & 2) === 0) return answer;
  return overTcp(server, question, { ...options, timeoutMs: Math.max(1, deadlineMs - performance.now()) });
};

/** Undefined when it has to be asked over TCP. */
function overUdp(server: ServerAddress, question: Question, options: ExchangeOptions): Promise<Buffer | undefined> {
  const query = encodeQuestion(question, randomInt(0x10000), options.withEdns);
  const end = questionEnd(question);
  return new Promise((resolve, reject) => {
    const socket = createSocket({
      type: isIPv6(server.address) ? 'udp6' : 'udp4',
      lookup: (host, _, done) => done(null, host, isIPv6(host) ? 6 : 4),
    });
    let foreign = 0;
    const close = (): void => {
      clearTimeout(timer);
      socket.close();
    };
    const fail = (error: Error): void => {
      close();
      reject(error);
    };
    const timer = setTimeout(() => fail(timeout(server, options)), options.timeoutMs);
    socket.on('error', fail);
    // No callback of `connect`: it would be called with what is an "error" event otherwise (no route to the server).
    socket.on('connect', () => socket.send(query));
    socket.on('message', (message) => {
      const isAnswer = isAnswerTo(message, query, end) || isNotUnderstood(message, query);
      if (!isAnswer) {
        options.onForeign();
        if (++foreign < maxForeign) return;
      }
      close();
      resolve(isAnswer ? message : undefined);
    });
    // Connected: the kernel passes on what comes from this server only, and reports a closed port.
    socket.connect(server.port, server.address);
  });
}

function overTcp(server: ServerAddress, question: Question, options: ExchangeOptions): Promise<Buffer> {
  const query = encodeQuestion(question, randomInt(0x10000), options.withEdns);
  const end = questionEnd(question);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port });
    const chunks: Buffer[] = [];
    const close = (): void => {
      clearTimeout(timer);
      socket.destroy();
    };
    const fail = (error: Error): void => {
      close();
      reject(error);
    };
    const timer = setTimeout(() => fail(timeout(server, options)), options.timeoutMs);
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(`ask ${server.address} over TCP: the server closed the connection`)));
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      const all = Buffer.concat(chunks);
      if (all.length < 2 || all.length < 2 + all.readUInt16BE(0)) return;
      const message = all.subarray(2, 2 + all.readUInt16BE(0));
      close();
      if (isAnswerTo(message, query, end) || isNotUnderstood(message, query)) return resolve(message);
      options.onForeign();
      reject(new Error(`ask ${server.address} over TCP: the answer is for another question`));
    });
  });
}

function timeout({ address }: ServerAddress, { timeoutMs }: ExchangeOptions): Error {
  return new Error(`ask ${address}: no answer within ${Math.round(timeoutMs)} ms`);
}

import { constants } from 'node:http2';
import { connect as tcp } from 'node:net';
import { connect as tls } from 'node:tls';
import { gzipSync } from 'node:zlib';
import type { ConnectOptions } from '../../../client/index.ts';
import type { Chance } from '../random.ts';
import { frame, type RawCall, RawConnection, type RawOutcome } from './raw-connection.ts';

const paths = [
  '/',
  '//',
  '/x',
  '/berth.core.v1.Pods/',
  '/berth.core.v1.Pods/Nope',
  '/berth.core.v1.Nope/Get',
  '/berth.core.v1.Pods/Get/x',
  '/%00',
  `/${'x'.repeat(8_000)}`,
  '/__proto__/constructor',
  '*',
];
const contentTypes = [
  'application/json',
  'application/grpc-web',
  'application/grpc+json',
  'application/grpc;x',
  'text/plain',
  '',
  'application/grpcx',
  undefined,
];
const timeouts = ['', '0n', '1n', '1u', '1m', '-1S', '99999999H', '999999999S', '1x', 'abc', '1.5S', '00000001m'];
const encodings = ['gzip', 'deflate', 'snappy', 'identity', 'br', ''];
const strangeHeaders: readonly Record<string, string | string[]>[] = [
  { 'x-request-id': 'x'.repeat(5_000) },
  { 'x-request-id': '\u00e4\u00f6' },
  { authorization: 'Bearer' },
  { authorization: 'Basic eA==' },
  { authorization: `Bearer ${'x'.repeat(6_000)}` },
  { 'user-agent': '' },
  { 'user-agent': `${'x'.repeat(5_000)}/1` },
  { 'thing-bin': '%%%' },
  { 'grpc-status-details-bin': 'AAAA' },
  { 'grpc-previous-rpc-attempts': 'x' },
  { 'x-many': Array.from({ length: 200 }, (_, i) => `${i}`) },
  Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, 'y'.repeat(20)])),
  { 'x-large': 'x'.repeat(40_000) },
];

/** A call whose headers, method or encoding are not what they should be. */
export function oddCall(path: string, body: Buffer, chance: Chance): RawCall {
  const whole = [frame(body)];
  switch (chance.below(9)) {
    case 0:
      return { path: chance.pick(paths), body: whole };
    case 1:
      return { path, headers: { 'content-type': chance.pick(contentTypes) }, body: whole, patienceMs: 200 };
    case 2:
      return { path, headers: { 'grpc-timeout': chance.pick(timeouts) }, body: whole, patienceMs: 200 };
    case 3:
      return {
        path,
        headers: { 'grpc-encoding': chance.pick(encodings) },
        body: [frame(chance.pick([body, gzipSync(body)]), 1)],
        patienceMs: 200,
      };
    case 4:
      // 64 MiB of nothing.
      return { path, headers: { 'grpc-encoding': 'gzip' }, body: [frame(bomb(), 1)], patienceMs: 2_000 };
    case 5:
      return { path, headers: chance.pick(strangeHeaders), body: whole, patienceMs: 500 };
    case 6:
      return {
        path,
        headers: { ':method': chance.pick(['GET', 'PUT', 'OPTIONS', 'HEAD', 'DELETE']) },
        body: [],
        patienceMs: 200,
      };
    case 7:
      return { path, headers: { te: undefined }, body: whole, patienceMs: 200 };
    default:
      // Half open: some of it, and then nothing until the client leaves.
      return {
        path,
        body: [frame(body).subarray(0, chance.below(body.length + 6))],
        ends: false,
        patienceMs: chance.pick([1, 20, 100]),
      };
  }
}

let gzipped: Buffer | undefined;
const bomb = (): Buffer => {
  gzipped ??= gzipSync(Buffer.alloc(64 * 1024 * 1024));
  return gzipped;
};

/** Things that are done to whole connections. Each has a connection of its own and leaves none behind. */
export const connectionOddities: Readonly<Record<string, (target: ConnectOptions, path: string, body: Buffer) => Promise<void>>> =
  {
    async 'bytes without TLS'({ address }, _, body) {
      await speak(tcp(portOf(address), '127.0.0.1'), Buffer.concat([Buffer.from('GET / HTTP/1.1\r\n\r\n'), body]));
    },
    async 'half a handshake'({ address }) {
      await speak(tcp(portOf(address), '127.0.0.1'), Buffer.from('16030100050100000100', 'hex'));
    },
    async 'HTTP/1.1 over TLS'({ address, ca }) {
      await speak(
        tls({ port: portOf(address), host: '127.0.0.1', ca, servername: 'localhost' }),
        Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      );
    },
    async 'no HTTP/2 behind the preface'({ address, ca }, _, body) {
      const socket = tls({ port: portOf(address), host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['h2'] });
      await speak(
        socket,
        Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 200, 1, 4, 0, 0, 0, 1]), body]),
      );
    },
    async 'a connection that breaks under its calls'(target, path, body) {
      const connection = new RawConnection(target);
      const calls = Array.from({ length: 30 }, () => connection.call({ path, body: [frame(body)], patienceMs: 1_000 }));
      await new Promise((resolve) => connection.session().once('connect', resolve).once('close', resolve));
      connection.close();
      await Promise.all(calls);
    },
    async 'calls that are reset at once'(target, path, body) {
      const connection = new RawConnection(target);
      await Promise.all(Array.from({ length: 100 }, () => connection.call({ path, body: [frame(body)], patienceMs: 0 })));
      connection.close();
    },
    async 'no window for the answer'(target, path, body) {
      const connection = new RawConnection(target);
      connection.session().settings({ initialWindowSize: 0 });
      await Promise.all(Array.from({ length: 20 }, () => connection.call({ path, body: [frame(body)], patienceMs: 100 })));
      connection.close();
    },
    async 'pings and settings without end'(target) {
      const connection = new RawConnection(target);
      const session = connection.session();
      await new Promise((resolve) => session.once('connect', resolve).once('close', resolve));
      for (let i = 0; i < 50 && !session.destroyed; i++) {
        session.ping(() => {});
        session.settings({ enablePush: false, maxConcurrentStreams: i });
      }
      await connection.call({ path: '/x', body: [], patienceMs: 200 });
      connection.close();
    },
    async 'a farewell with calls running'(target, path, body) {
      const connection = new RawConnection(target);
      const calls: Promise<RawOutcome>[] = Array.from({ length: 10 }, () =>
        connection.call({ path, body: [frame(body)], patienceMs: 200 }),
      );
      const session = connection.session();
      await new Promise((resolve) => session.once('connect', resolve).once('close', resolve));
      if (!session.destroyed) session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      await Promise.all(calls);
      connection.close();
    },
  };

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

/** Says something and waits until the other side ends it, or a moment. */
function speak(socket: ReturnType<typeof tcp>, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const leave = setTimeout(() => socket.destroy(), 200);
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(leave);
      resolve();
    });
    socket.resume();
    socket.write(bytes);
  });
}

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Attacker, attackHttp2, END_HEADERS, frame, frames, headerBlock } from './attacker.ts';
import { type Asked, askDoor, attackHttp1, charged, nothing, sumOf } from './door-attacker.ts';

// What a client with few rights, or a web page in an administrator's browser, may try at the HTTP door.
const metrics = new MetricsRegistry();
const maps = '/api/v1/namespaces/default/configmaps';
const attackers: Attacker[] = [];
let server: RunningServer;

beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const line = formatToken('token-of-root', { user: 'root', groups: ['system:masters'] });
  await writeFile(file, (await readFile(file, 'utf8')) + line);
  const arrivalLimits = { timeMs: 2_000, bytes: 6 * 1024 * 1024 };
  server = await startServer({ dataDir: first.dataDir, metrics, kubernetesListen: '127.0.0.1:0', arrivalLimits });
});
afterEach(async () => {
  for (const each of attackers.splice(0)) each.socket.destroy();
  // Whatever was done, nothing stays charged.
  await expect.poll(() => charged(metrics)).toEqual(nothing);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const ask = (path: string, asked?: Asked) => askDoor(server, path, asked);

async function keep<T extends Attacker>(attacker: Promise<T>): Promise<T> {
  const kept = await attacker;
  attackers.push(kept);
  return kept;
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const post = (more: string, body = '') =>
  `POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}\r\n${body}`;

/** What an attacker hears until it holds a text. */
const heard = (attacker: Attacker, text: RegExp) => expect.poll(() => attacker.text).toMatch(text);

describe('what a broken connection leaves is not charged', () => {
  it('of requests that wait behind a watch on one connection of HTTP/1.1', async () => {
    for (const behind of [get(`${maps}?watch=1`), get(maps), get('/api/v1/namespaces/default')]) {
      const attacker = await keep(attackHttp1(server));
      attacker.send(Buffer.from(get(`${maps}?watch=1`) + behind.repeat(20)));
      await heard(attacker, /^HTTP\/1\.1 200/);
      expect(charged(metrics).streams).toBeGreaterThan(0);
      attacker.socket.destroy();
      await expect.poll(() => charged(metrics)).toEqual(nothing);
    }
  });

  it.each(['/healthz', `${maps}?watch=1`])(
    'of an upgrade behind a request of %s, which ends the connection alone',
    async (path) => {
      const attacker = await keep(attackHttp1(server));
      attacker.send(Buffer.from(get(path) + get('/healthz', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')));
      await expect.poll(() => attacker.closed).toBe(true);
      expect((await ask('/healthz')).code).toBe(200);
    },
  );

  it.each(['/healthz', maps])('of a body over HTTP/2 that is not read, sent to %s without credentials', async (path) => {
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: server.admin.ca });
    session.on('error', () => {});
    for (let i = 0; i < 20; i++) {
      const stream = session.request({ ':method': 'POST', ':path': path }, { endStream: false });
      stream.on('error', () => {}).end(Buffer.alloc(5_000));
      const [answer] = await once(stream, 'response');
      expect([405, 401]).toContain(answer[':status']);
      stream.resume();
    }
    await expect.poll(() => charged(metrics)).toEqual(nothing);
    await expect.poll(() => sumOf(metrics, 'berth_apiserver_unauthenticated_streams')).toBe(0);
    session.destroy();
  });

  it('of a watch whose client wants a protocol that is none, sends something, and goes', async () => {
    const attacker = await keep(attackHttp1(server));
    attacker.send(Buffer.from(get(`${maps}?watch=1`, 'Connection: Upgrade\r\nUpgrade: none\r\n')));
    await heard(attacker, /^HTTP\/1\.1 200/);
    attacker.send(Buffer.from('something'));
    attacker.socket.end();
    await expect.poll(() => attacker.closed).toBe(true);
  });

  it('of watches over HTTP/2 that the client resets while the connection stays', async () => {
    const { ca, cert, key } = server.admin;
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca, cert, key });
    session.on('error', () => {});
    const watches = Array.from({ length: 20 }, () => session.request({ ':path': `${maps}?watch=1` }));
    await Promise.all(watches.map((each) => once(each, 'response')));
    expect(charged(metrics).streams).toBe(20);
    for (const each of watches) each.on('error', () => {}).close(8);
    await expect.poll(() => charged(metrics)).toEqual(nothing);
    session.destroy();
  });

  it('of watches over HTTP/2 that the client begins and resets without a pause', async () => {
    const { ca, cert, key } = server.admin;
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca, cert, key });
    session.on('error', () => {});
    const flood = async (): Promise<void> => {
      while (!session.closed && !session.destroyed) {
        const watch = session.request({ ':path': `${maps}?watch=1` });
        watch.on('error', () => {}).on('response', () => watch.close(8));
        await new Promise((resolve) => watch.once('close', resolve));
      }
    };
    await Promise.all(Array.from({ length: 16 }, flood));
    await expect.poll(() => charged(metrics)).toEqual(nothing);
  });
});

describe('a request', () => {
  it('whose headers are too many to be read is refused, and has no effect', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}: y\r\n`).join('');
    const attacker = await keep(attackHttp1(server));
    attacker.send(Buffer.from(get(maps, `${many(1_100)}Impersonate-User: bob\r\n`)));
    await heard(attacker, /^HTTP\/1\.1 431/);
    const other = await keep(attackHttp1(server));
    other.send(Buffer.from(get(maps, `${many(200)}Impersonate-User: bob\r\n`)));
    await heard(other, /^HTTP\/1\.1 403/);
  });

  it('with more headers than HTTP/2 may have is reset', async () => {
    const { cert, key } = server.admin as { cert: string; key: string };
    const attacker = await keep(attackHttp2(server.info.kubernetes!, { cert, key }));
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, 'y']));
    const block = headerBlock({ ':method': 'GET', ':scheme': 'https', ':path': maps, ':authority': 'x', ...many });
    attacker.send(frame(frames.headers, END_HEADERS | 1, 1, block));
    await expect.poll(() => attacker.heard.resets.length + (attacker.closed ? 1 : 0)).toBeGreaterThan(0);
    expect(attacker.heard.types).not.toContain(frames.data);
  });

  it.each(['__proto__', 'constructor', 'toString', '*/*;as=__proto__;g=meta.k8s.io;v=v1', 'application/json;q=__proto__'])(
    'that accepts %s is answered or refused',
    async (accept) => {
      expect([200, 406]).toContain((await ask(maps, { headers: { accept } })).code);
    },
  );

  it.each([
    ['two tokens', ['authorization', 'Bearer token-of-root', 'authorization', 'Bearer x', 'host', 'x'], 401],
    ['a compressed body', { 'content-encoding': 'gzip' }, 415],
    ['a body of a form in a web page', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a body of plain text', { 'content-type': 'text/plain' }, 415],
    ['the origin of another web page', { origin: 'https://evil.example' }, 403],
    ['an origin that is none', { origin: 'null' }, 403],
    ['the word of a browser that another site sends it', { 'sec-fetch-site': 'cross-site' }, 403],
  ] as const)('to write with %s is refused', async (_, headers, code) => {
    const answer = await ask(maps, { method: 'POST', headers, body: '{"metadata":{"name":"foreign"}}' });
    expect(answer.code).toBe(code);
    expect((await ask(`${maps}/foreign`)).code).toBe(404);
  });

  it('of a page of the same origin, or with a token of its own, is served', async () => {
    const origin = `https://${server.info.kubernetes}`;
    const write = (name: string, headers: Record<string, string>) =>
      ask(maps, { method: 'POST', headers, body: JSON.stringify({ metadata: { name } }) });
    expect((await write('same', { origin })).code).toBe(201);
    const authorization = 'Bearer token-of-root';
    expect((await write('known', { origin: 'https://dashboard.example', authorization })).code).toBe(201);
  });

  it.each([
    ['a length and chunks', get(maps, 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'), 400],
    ['two lengths', post('Content-Length: 2\r\nContent-Length: 3\r\n', '{}'), 400],
    ['chunks that are named twice', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'), 400],
    ['a header that is folded', get(maps, 'x: a\r\n b\r\n'), 400],
    ['no host', 'GET /api HTTP/1.1\r\n\r\n', 400],
  ])('with %s, which a proxy may read in another way, is refused', async (_, text, code) => {
    const attacker = await keep(attackHttp1(server));
    attacker.send(Buffer.from(text));
    await heard(attacker, new RegExp(`^HTTP/1.1 ${code}`));
    await attacker.ended();
    expect(attacker.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it('that has many unknown fields is warned of in few bytes', async () => {
    const name = (i: number) => `u${i}${i < 20 ? 'x'.repeat(500) : ''}`;
    const object = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [name(i), 1]));
    const body = JSON.stringify({ metadata: { name: 'warned' }, ...object });
    const { code, headers } = await ask(maps, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(code).toBe(201);
    expect(headers.warning!.length).toBeLessThan(5_000);
    expect(headers.warning).toContain('more warnings are left out');
  });
});

describe('a body', () => {
  it('of a watch is thrown away, and held nowhere', async () => {
    const { ca, cert, key } = server.admin;
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca, cert, key });
    const watch = session.request({ ':path': `${maps}?watch=1` }, { endStream: false });
    watch.on('error', () => {});
    await once(watch, 'response');
    // Several times what a client may send of a body that is not read.
    await new Promise((resolve) => watch.write(Buffer.alloc(1024 * 1024), resolve));
    expect(charged(metrics).streams).toBe(1);
    session.destroy();
  });

  // The library that reads YAML took minutes for some, in which nothing else was served.
  it.each([
    ['mistakes', ']'.repeat(250_000), /has more than 50000 tokens: send it as JSON/],
    ['empty items', `[${','.repeat(250_000)}`, /has more than 50000 tokens: send it as JSON/],
    ['texts', '"a" '.repeat(60_000), /has more than 50000 tokens: send it as JSON/],
    ['levels', '['.repeat(250_000), /is nested more than 128 levels deep/],
  ])('of YAML that has many %s is refused before others wait for long', { timeout: 10_000 }, async (_, body, words) => {
    for (const [method, path, type] of [
      ['POST', maps, 'application/yaml'],
      ['PATCH', `${maps}/a?fieldManager=a`, 'application/apply-patch+yaml'],
    ] as const) {
      const { code, text } = await ask(path, { method, body, headers: { 'content-type': type } });
      expect({ code, text }).toEqual({ code: 400, text: expect.stringMatching(words) });
    }
  });

  it('of YAML that is large where its aliases are written out is refused', async () => {
    const body = `a: &a [${'bcdefghij,'.repeat(6_000)}]\nb: [${'*a,'.repeat(90)}]`;
    const { code, text } = await ask(maps, { method: 'POST', body, headers: { 'content-type': 'application/yaml' } });
    expect({ code, text }).toEqual({ code: 400, text: expect.stringContaining('larger than 4194304 bytes') });
  });

  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 97), Buffer.from('\r\n')]);

  it.each([
    ['of an unknown caller', true, 401],
    ['that is too large', false, 413],
  ])('%s that comes over HTTP/1.1 is refused in words, and the connection closed', async (_, anonymous, code) => {
    const attacker = await keep(attackHttp1(server, { anonymous }));
    attacker.send(Buffer.from(post('Transfer-Encoding: chunked\r\n')));
    for (let i = 0; i < 80 && !attacker.closed; i++) {
      attacker.send(chunk);
      if (i % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await heard(attacker, new RegExp(`^HTTP/1.1 ${code} [^]*connection: close`, 'i'));
    await attacker.ended();
  });

  it('that is refused over HTTP/2 is stopped by a reset, and takes nothing from the connection', async () => {
    const { cert, key } = server.admin as { cert: string; key: string };
    const attacker = await keep(attackHttp2(server.info.kubernetes!, { cert, key }));
    const block = headerBlock({ ':method': 'POST', ':scheme': 'https', ':path': '/api/v1/chairs', ':authority': 'x' });
    const count = 30;
    for (let at = 0; at < count; at++) {
      const stream = 2 * at + 1;
      attacker.send(frame(frames.headers, END_HEADERS, stream, block));
      for (let i = 0; i < 3; i++) attacker.send(frame(frames.data, 0, stream, Buffer.alloc(16_384)));
      await expect.poll(() => attacker.heard.resets).toHaveLength(at + 1);
    }
    expect([...new Set(attacker.heard.resets)]).toEqual([0]);
    // 1.5 MB were sent; the window of the connection has 64 KiB.
    expect(attacker.closed).toBe(false);
    expect(attacker.heard.types.filter((type) => type === frames.windowUpdate).length).toBeGreaterThanOrEqual(40);
  });

  it('that waits to be asked for is asked for when its caller is known', async () => {
    const known = await keep(attackHttp1(server));
    known.send(Buffer.from(post('Expect: 100-continue\r\nContent-Length: 31\r\n')));
    await heard(known, /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    known.send(Buffer.from('{"metadata":{"name":"awaited"}}'));
    await heard(known, /HTTP\/1\.1 201/);
    const unknown = await keep(attackHttp1(server, { anonymous: true }));
    unknown.send(Buffer.from(post('Expect: 100-continue\r\nContent-Length: 31\r\n')));
    await heard(unknown, /^HTTP\/1\.1 401/);
  });

  it('that does not come in time is given up', async () => {
    const attacker = await keep(attackHttp1(server));
    attacker.send(Buffer.from(post('Content-Length: 100\r\n', '{')));
    await heard(attacker, /^HTTP\/1\.1 504 [\s\S]*did not arrive within 2 s/);
    await attacker.ended();
  });

  it('is not held beyond the bound for all that are on their way: the heaviest connection is closed', async () => {
    const all = await Promise.all(Array.from({ length: 3 }, () => keep(attackHttp1(server))));
    for (const each of all) {
      each.send(Buffer.from(post(`Content-Length: 4000000\r\n`)), Buffer.alloc(2_500_000, 32));
      await new Promise((resolve) => each.socket.write('', resolve));
    }
    await expect.poll(() => all.some(({ closed }) => closed)).toBe(true);
    const made = await ask(maps, { method: 'POST', body: '{"metadata":{"name":"modest"}}' });
    expect(made.code).toBe(201);
  });
});

describe('an upgrade', () => {
  const exec = '/api/v1/namespaces/default/pods/none/exec?command=x&stdout=1';
  const webSocket = (more: string) =>
    `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}`;
  const bearer = (token: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

  it('that is refused does not stay half open', async () => {
    const attacker = await keep(attackHttp1(server, { anonymous: true, allowHalfOpen: true }));
    attacker.send(Buffer.from(get(exec, webSocket(''))));
    await heard(attacker, /^HTTP\/1\.1 401/);
    // A connection that the server has closed refuses what is sent.
    await expect
      .poll(() => {
        attacker.send(Buffer.from('x'));
        return attacker.closed;
      })
      .toBe(true);
  });

  it('of a web page of another origin is refused', async () => {
    const attacker = await keep(attackHttp1(server));
    const browser = 'User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n';
    attacker.send(Buffer.from(get(exec, webSocket(`Origin: https://evil.example\r\n${browser}`))));
    await heard(attacker, /^HTTP\/1\.1 403/);
  });

  it("of a program is served whatever origin its library names: Go's says http://localhost", async () => {
    const program = await keep(attackHttp1(server));
    program.send(Buffer.from(get(exec, webSocket('Origin: http://localhost\r\n'))));
    await heard(program, /^HTTP\/1\.1 404/);
  });

  it.each([
    ['a token that is known', bearer('token-of-root'), 404],
    ['a token that is not known', bearer('x'), 401],
    ['a token that is none', 'base64url.bearer.authorization.k8s.io.%%%', 401],
    ['two tokens', `${bearer('token-of-root')}, ${bearer('x')}`, 401],
  ])('may bring %s as a subprotocol', async (_, protocol, code) => {
    const attacker = await keep(attackHttp1(server, { anonymous: true }));
    const more = `Origin: https://dashboard.example\r\nSec-WebSocket-Protocol: v4.channel.k8s.io, ${protocol}\r\n`;
    attacker.send(Buffer.from(get(exec, webSocket(more))));
    await heard(attacker, new RegExp(`^HTTP/1.1 ${code}`));
    expect(attacker.text).not.toContain(protocol);
  });

  it('with a token in the query is that of an unknown caller', async () => {
    for (const name of ['token', 'access_token', 'authorization', 'bearer'])
      expect((await ask(`${maps}?${name}=token-of-root`, { anonymous: true })).code).toBe(401);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { assertOpen, type DialOptions, dialSpdy, type SpdyClient } from './spdy-client.ts';

// Commands over SPDY/3.1, as kubectl up to 1.30 runs them; a real agent, containers in memory.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
const pods = '/api/v1/namespaces/default/pods';
const clients = new Set<SpdyClient>();

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const containers = [{ name: 'app', image, command: ['sleep', '1000'], stdin: true }];
  await server.client.pods.create({ metadata: { namespace: 'default', name: 'one' }, spec: { nodeName: 'n1', containers } });
  const create = (name: string, spec: object) =>
    server.client.pods.create({ metadata: { namespace: 'default', name }, spec: { containers, ...spec } });
  await create('ended', { nodeName: 'n1', restartPolicy: 'Never' });
  await create('nowhere', {});
  await podWhere(server.client, 'one', isRunning);
  await podWhere(server.client, 'ended', isRunning);
  machine.fake.exit(machine.fake.container('ended', 'app').id, 0);
  await podWhere(server.client, 'ended', ({ status }) => status?.phase === 'Succeeded');
});
afterEach(() => {
  for (const client of clients) client.close();
  clients.clear();
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
});

async function dial(path: string, options?: DialOptions): Promise<SpdyClient> {
  const dialed = await dialSpdy(server, `${pods}/one/${path}`, options);
  assertOpen(dialed);
  clients.add(dialed);
  return dialed;
}

const flags = 'stdin=true&stdout=true&stderr=true&command=cat';

describe.each(['exec', 'attach'])('%s over SPDY', (verb) => {
  it('carries input and output, ends every stream, and leaves it to the client to close', async () => {
    machine.fake.onExec(() => ({ echo: true, stderr: 'oops' }));
    machine.fake.onAttach(() => ({ echo: true, stderr: 'oops' }));
    const client = await dial(`${verb}?${flags}`);
    const { error, stdin, stdout, stderr } = await client.openAll('error', 'stdin', 'stdout', 'stderr');
    stdin.write('hello ');
    stdin.write('world');
    stdin.end();
    await Promise.all([error.over, stdin.over, stdout.over, stderr.over]);
    expect([stdout.text, stderr.text]).toEqual(['hello world', 'oops']);
    expect(JSON.parse(error.text)).toEqual({ metadata: {}, status: 'Success' });
    expect([error, stdin, stdout, stderr].map((each) => each.hasEnded)).toEqual([true, true, true, true]);
    client.ping(7);
    await until('the connection still answers', () => client.pings.includes(7));
  });

  it.each([
    [['v5.channel.k8s.io', 'v4.channel.k8s.io'], 'v5.channel.k8s.io'],
    [['v9.channel.k8s.io', 'v2.channel.k8s.io'], 'v2.channel.k8s.io'],
    [['channel.k8s.io'], 'channel.k8s.io'],
    [[], 'channel.k8s.io'],
  ])('is negotiated: of %j the server speaks %s', async (protocols, protocol) => {
    machine.fake.onExec(() => ({ stdout: 'hi' }));
    machine.fake.onAttach(() => ({ stdout: 'hi' }));
    const client = await dial(`${verb}?stdout=1&command=x`, { protocols });
    expect(client.protocol).toBe(protocol);
    const { error, stdout } = await client.openAll('error', 'stdout');
    await Promise.all([error.over, stdout.over]);
    expect([stdout.text, error.text !== '']).toEqual(['hi', protocol.startsWith('v5')]);
  });

  it.each([
    ['without rights', `one/${verb}?${flags}`, { headers: { 'impersonate-user': 'bob' } }, 403, /cannot create/],
    ['of an unknown container', `one/${verb}?${flags}&container=db`, {}, 400, /container db is not valid for pod one/],
    ['of an unknown pod', `none/${verb}?${flags}`, {}, 404, /not found/],
    ['of a pod that has ended', `ended/${verb}?${flags}`, {}, 400, /container "app" in pod "ended" is not running/],
    ['of a pod without a node', `nowhere/${verb}?${flags}`, {}, 400, /^pod nowhere does not have a host assigned$/],
    ['in unknown protocols', `one/${verb}?${flags}`, { protocols: ['v9.channel.k8s.io'] }, 400, /unable to negotiate/],
  ])('%s is refused with a Status before the connection is given away', async (_, path, options, code, message) => {
    const refused = await dialSpdy(server, `${pods}/${path}`, options);
    expect(refused).toMatchObject({ code, status: { kind: 'Status', code, message: expect.stringMatching(message) } });
  });

  it('ends the command on the node when the client vanishes', async () => {
    let ended = false;
    const closed = (): void => {
      ended = true;
    };
    const watched = () => ({ echo: true, closed });
    machine.fake.onExec(watched);
    machine.fake.onAttach(watched);
    const client = await dial(`${verb}?${flags}`);
    await client.openAll('error', 'stdin', 'stdout', 'stderr');
    client.close();
    await until('the session is closed', () => ended);
  });
});

describe('exec over SPDY', () => {
  it('tells how the command ended: by its exit code', async () => {
    machine.fake.onExec(() => ({ exitCode: 3 }));
    const client = await dial('exec?stdout=1&command=x');
    const { error } = await client.openAll('error', 'stdout');
    await error.over;
    expect(JSON.parse(error.text)).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  });

  it('carries the size of a terminal, however its frames are cut', async () => {
    const sizes: string[] = [];
    machine.fake.onExec(() => ({ echo: true, resized: (width, height) => void sizes.push(`${width}x${height}`) }));
    const client = await dial('exec?stdin=1&stdout=1&stderr=1&tty=1&command=sh');
    const { stdin, resize, stdout } = await client.openAll('error', 'stdin', 'stdout', 'resize');
    resize.write('{"Width":80,"Hei');
    resize.write('ght":24}\n');
    await until('the first size', () => sizes.length > 0);
    resize.write('{"Width":0,"Height":0}\nnonsense\n{"Width":81,"Height":25}\n');
    await until('the second size', () => sizes.length > 1);
    expect(sizes).toEqual(['80x24', '81x25']);
    stdin.end();
    await stdout.over;
  });

  it('refuses streams that the command does not have, and a second of a kind', async () => {
    machine.fake.onExec(() => ({ echo: true }));
    const client = await dial('exec?stdin=1&stdout=1&command=cat');
    const first = await client.open({ streamtype: 'stdin' });
    const refused = [
      await client.open({ streamtype: 'stdin' }),
      await client.open({ streamtype: 'stderr' }),
      await client.open({}),
    ];
    expect([first.isReset, ...refused.map((each) => each.isReset)]).toEqual([false, true, true, true]);
  });

  it('is given up where the client says what is no SPDY', async () => {
    machine.fake.onExec(() => ({ echo: true }));
    const client = await dial('exec?stdin=1&stdout=1&command=cat');
    client.way.write(Buffer.from([0x80, 9, 0, 1, 0, 0, 0, 0]));
    await client.closed;
  });
});

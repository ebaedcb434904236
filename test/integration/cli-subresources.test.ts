import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// --subresource of get, patch and edit, against a real server; no controller and no node touch the objects.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  cli = await openCommandLine(server.admin);
  const labels = { app: 'web' };
  await server.client.deployments.create({
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const berth = (words: string) => cli.berth(...words.split(' '));
const web = () => server.client.deployments.get({ namespace: 'default', name: 'web' });

/** Edits with a script that replaces text; what it saw first is kept in a file. */
async function edit(words: string, from: string, to: string) {
  const script = join(cli.folder, 'editor.sh');
  await writeFile(script, `#!/bin/sh\nsed -i 's/${from}/${to}/' "$1"\n`);
  await chmod(script, 0o755);
  process.env.KUBE_EDITOR = script;
  return await berth(words).finally(() => delete process.env.KUBE_EDITOR);
}

describe('get --subresource', () => {
  it('shows the Scale of objects that are named, as a table and as JSON', async () => {
    expect((await berth('get deploy web --subresource=scale')).out).toMatch(/^NAME +DESIRED +AVAILABLE +AGE\nweb +2 +0 /);
    expect((await berth('get deploy/web --subresource scale -o jsonpath={.kind}{.spec.replicas}')).out).toBe('Scale2');
  });

  it('shows the object for every other part of it', async () => {
    expect((await berth('get deploy web --subresource=status -o jsonpath={.kind}')).out).toBe('Deployment');
  });

  it.each([
    ['get deploy --subresource=scale', /--subresource is for objects that are named/],
    ['get deploy web -w --subresource=scale', /--watch does not go with it/],
    ['get ns default --subresource=scale', /a namespace has no subresource "scale": it has status/],
    ['get cm x --subresource=status', /a configmap has no subresource "status": it has none/],
    ['get deploy web --subresource=fly', /Allowed choices are status, scale, resize/],
  ])('berth %s is refused', async (words, err) => {
    const said = await berth(words);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(err);
  });
});

describe('patch --subresource', () => {
  it('changes the Scale of an object, and says when it was so already', async () => {
    const patch = '{"spec":{"replicas":5}}';
    const scale = (...more: string[]) => cli.berth('patch', 'deploy/web', '--subresource=scale', '-p', patch, ...more);
    expect(await scale('--type=merge')).toMatchObject({ code: 0, out: 'deployment.apps/web patched\n' });
    expect((await scale()).out).toBe('deployment.apps/web patched (no change)\n');
    expect((await scale('-o', 'jsonpath={.kind}')).out).toBe('Scale');
    expect((await web()).spec?.replicas).toBe(5);
  });

  it('is refused for a kind without it, and changes nothing', async () => {
    const said = await cli.berth('patch', 'ns/default', '--subresource=scale', '-p', '{"spec":{"replicas":1}}');
    expect(said).toMatchObject({ code: 1, out: '', err: 'error: a namespace has no subresource "scale": it has status\n' });
  });
});

describe('edit --subresource', () => {
  it('edits the Scale', async () => {
    expect(await edit('edit deploy/web --subresource=scale', 'replicas: 5', 'replicas: 3')).toMatchObject({
      code: 0,
      out: 'deployment.apps/web edited\n',
    });
    expect((await web()).spec?.replicas).toBe(3);
  });

  it('edits the status, and leaves the spec alone', async () => {
    await cli.berth('patch', 'deploy/web', '--subresource=status', '-p', '{"status":{"replicas":1}}');
    expect((await edit('edit deploy/web --subresource=status', 'replicas: [13]', 'replicas: 7')).code).toBe(0);
    const { spec, status } = await web();
    expect([spec?.replicas, status?.replicas]).toEqual([3, 7]);
  });

  it('is refused for a kind without it', async () => {
    const said = await edit('edit ns/default --subresource=scale', 'a', 'b');
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(/a namespace has no subresource "scale"/);
  });
});

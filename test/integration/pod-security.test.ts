import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

const prefix = 'pod-security.kubernetes.io';
const container = { name: 'web', image: 'busybox:local' };
const spec = { containers: [container], hostNetwork: true };

describe('a namespace with labels of pod security', () => {
  let server: RunningServer;
  let client: Client;
  const warnings: string[] = [];
  beforeAll(async () => {
    server = await startServer({});
    const { address, ca } = server.info;
    const pair = await readPair(server.dataDir, 'admin');
    client = connect({ address, ca, ...pair, onWarning: (text) => void warnings.push(text) });
    await client.namespaces.create({ metadata: { name: 'team', labels: { [`${prefix}/enforce`]: 'baseline' } } });
    await client.namespaces.create({ metadata: { name: 'lax', labels: { [`${prefix}/warn`]: 'restricted' } } });
  });
  afterAll(async () => {
    client.close();
    await server.stop();
    await server.remove();
  });

  it('refuses the pods that its level does not allow, also as a dry run, and takes the others', async () => {
    const metadata = { namespace: 'team', name: 'web' };
    const refusal = {
      code: 'PERMISSION_DENIED',
      message: 'pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    };
    await expect(client.pods.create({ metadata, spec })).rejects.toMatchObject(refusal);
    await expect(client.pods.create({ metadata, spec }, { dryRun: ['All'] })).rejects.toMatchObject(refusal);
    await client.pods.create({ metadata, spec: { containers: [container] } });
  });

  it('refuses a container that comes later and could do more', async () => {
    const debug = (securityContext: object) => ({
      ephemeralContainers: [{ ...container, name: 'debug', securityContext }],
    });
    const at = { namespace: 'team', name: 'web', subresource: 'ephemeralcontainers' };
    await expect(client.pods.patch(at, { spec: debug({ privileged: true }) })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('privileged (container "debug" must not set securityContext.privileged=true)'),
    });
    await client.pods.patch(at, { spec: debug({}) });
  });

  it('tells of what it only warns of', async () => {
    warnings.length = 0;
    await client.pods.create({ metadata: { namespace: 'lax', name: 'web' }, spec });
    expect(warnings).toContainEqual(
      expect.stringMatching(/would violate PodSecurity "restricted:latest": host namespaces .*runAsNonRoot/),
    );
  });

  it('that becomes stricter leaves the pods alone that it has', async () => {
    await client.namespaces.patch({ name: 'lax' }, { metadata: { labels: { [`${prefix}/enforce`]: 'restricted' } } });
    await client.pods.patch({ namespace: 'lax', name: 'web' }, { metadata: { labels: { a: 'b' } } });
  });

  it.each([
    ['enforce', 'strict', 'must be one of "privileged", "baseline", "restricted"'],
    ['warn', '', 'must be one of "privileged", "baseline", "restricted"'],
    ['enforce-version', '1.30', 'must be "latest" or of the form "v1.34"'],
  ])('is refused when %s is "%s"', async (mode, value, words) => {
    const labels = { [`${prefix}/${mode}`]: value };
    await expect(client.namespaces.create({ metadata: { name: 'odd', labels } })).rejects.toThrow(words);
  });

  it('is told which labels do less than they say', async () => {
    warnings.length = 0;
    const labels = { [`${prefix}/audit`]: 'baseline', [`${prefix}/enforce`]: 'baseline', [`${prefix}/enforce-version`]: 'v1.30' };
    await client.namespaces.create({ metadata: { name: 'marked', labels } });
    expect(warnings).toEqual([
      expect.stringContaining('use pod-security.kubernetes.io/warn'),
      expect.stringContaining('not by v1.30'),
    ]);
  });
});

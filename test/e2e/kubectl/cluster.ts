import { request } from 'node:http';
import { expect, it } from 'vitest';
import { eventually, freePort } from '../installation.ts';
import type { Kubectl } from './session.ts';

/** What kubectl says of the whole: versions, kinds, figures. */
export function cluster(into: (namespace: string) => Promise<Kubectl>): void {
  it('version, cluster-info, api-resources and api-versions describe the server', async () => {
    const k = await into('cluster');
    const { serverVersion } = JSON.parse(await k.ok('version -o json'));
    expect(serverVersion).toMatchObject({ major: '1', gitVersion: expect.stringMatching(/^v1\.\d+\.\d+\+berth/) });
    expect(await k.ok('cluster-info')).toMatch(/Kubernetes control plane.* is running at .*https:\/\/127\.0\.0\.1:\d+/);
    const dump = await k.ok('cluster-info dump --namespaces cluster -o json');
    expect(dump).toContain('"kind": "NodeList"');
    expect(dump).toContain('"kind": "PodList"');
    const kinds = await k.ok('api-resources');
    expect(kinds).toMatch(/\npods +po +v1 +true +Pod\n/);
    expect(kinds).toMatch(/\ndeployments +deploy +apps\/v1 +true +Deployment\n/);
    const names = await k.ok('api-resources --namespaced=false --verbs=list,watch -o name');
    expect(names.split('\n')).toEqual(expect.arrayContaining(['nodes', 'namespaces', 'clusterroles.rbac.authorization.k8s.io']));
    expect(names).not.toContain('pods\n');
    const versions = (await k.ok('api-versions')).trim().split('\n');
    expect(versions).toEqual(expect.arrayContaining(['v1', 'apps/v1', 'batch/v1', 'networking.k8s.io/v1', 'policy/v1']));
    expect(versions).toEqual([...versions].sort());
  });

  it('top shows what nodes, pods and containers use', async () => {
    const k = await into('top');
    await k.ok(
      'run busy --image=berth/busybox --image-pull-policy=Never --labels=app=busy',
      '--',
      'sh',
      '-c',
      'trap exit TERM; sleep 3600 & wait',
    );
    await k.ok('wait --for=condition=Ready pod/busy --timeout=120s');
    const pods = await eventually('the first figures of a pod', async () => {
      const { code, stdout } = await k.run('top pods');
      return code === 0 && /busy/.test(stdout) ? stdout : undefined;
    });
    expect(pods).toMatch(/^NAME +CPU\(cores\) +MEMORY\(bytes\) *\nbusy +\d+m +\d+Mi *\n$/);
    expect(await k.ok('top pod busy --containers --no-headers')).toMatch(/^(busy +)?busy +\d+m +\d+Mi *\n$/);
    expect(await k.ok('top pods -A -l app=busy --no-headers')).toMatch(/^top +busy +/);
    expect(await k.ok('top nodes')).toMatch(
      /^NAME +CPU\(cores\) +CPU(%|\(%\)) +MEMORY\(bytes\) +MEMORY(%|\(%\)) *\n\S+ +\d+m +\d+% +\d+Mi +\d+% *\n$/,
    );
    expect(await k.ok(`top node ${k.nodeName} --no-headers`)).toMatch(new RegExp(`^${k.nodeName} `));
    await k.ok('delete pod busy --now');
  });

  it('proxy lets programs without credentials read', async () => {
    const k = await into('proxy');
    await k.ok('create configmap seen');
    const port = await freePort();
    const proxy = k.start(`proxy --port=${port}`);
    try {
      await proxy.until(`Starting to serve on 127.0.0.1:${port}`);
      const { items } = JSON.parse(await read(port, '/api/v1/namespaces/proxy/configmaps'));
      expect(items.map((item: { metadata: { name: string } }) => item.metadata.name)).toContain('seen');
      expect(await read(port, '/healthz')).toBe('ok');
    } finally {
      await proxy.stop();
    }
  });
}

function read(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ port, path, host: '127.0.0.1' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve(text)).on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { openWorkloadCli, type WorkloadCli } from './workload-cli.ts';

let w: WorkloadCli;
beforeAll(async () => {
  w = await openWorkloadCli();
});
afterAll(() => w.close());

const deployment = (name: string): Promise<JsonObject> =>
  w.server.client.objects.get('Deployment', { namespace: 'default', name });
const imageOf = async (name: string) => {
  const { spec } = (await deployment(name)) as { spec: { template: { spec: { containers: { image: string }[] } } } };
  return spec.template.spec.containers[0]?.image;
};

/** Runs a command while pods become ready again and again, as on nodes. */
async function whileReady(name: string, words: string): Promise<Awaited<ReturnType<WorkloadCli['berth']>>> {
  const ended = new AbortController();
  const readying = (async () => {
    while (!ended.signal.aborted) {
      await w.makeReady(name);
      await delay(100);
    }
  })();
  return await w.berth(words).finally(async () => {
    ended.abort();
    await readying;
  });
}

describe('berth rollout', () => {
  it('follows a rollout in kubectl’s sentences until it is done', async () => {
    await w.berth('create deployment web --image=i:1 --replicas=3');
    const first = await whileReady('web', 'rollout status deployment/web');
    expect(first).toMatchObject({ code: 0, err: '' });
    const lines = first.out.trimEnd().split('\n');
    expect(lines.at(-1)).toBe('deployment "web" successfully rolled out');
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^Waiting for deployment ("web" rollout to finish|spec update)/);
    await w.berth('set image deployment/web i=i:2');
    const second = await whileReady('web', 'rollout status deployment web --timeout=20s');
    expect(second.out).toMatch(/out of 3 new replicas have been updated\.\.\.\n[\s\S]*successfully rolled out\n$/);
    expect(await w.berth('rollout status deployment/web --revision=1')).toMatchObject({
      code: 1,
      err: 'error: desired revision (1) is different from the running revision (2)\n',
    });
  }, 60_000);

  it('shows the revisions and their templates', async () => {
    await w.berth('annotate deployment/web kubernetes.io/change-cause=second');
    await expect
      .poll(async () => (await w.berth('rollout history deployment/web')).out)
      .toBe('deployment.apps/web\nREVISION  CHANGE-CAUSE\n1         <none>\n2         second\n\n');
    const one = await w.berth('rollout history deployment/web --revision=1');
    expect(one.out).toMatch(/^deployment.apps\/web with revision #1\nPod Template:\n {2}Labels: +app=web\n +pod-template-hash=/);
    expect(one.out).toMatch(/Image: +i:1\n/);
    expect((await w.berth('rollout history deploy/web --revision=2 -o jsonpath={.kind}')).out).toBe('ReplicaSet');
    expect(await w.berth('rollout history deploy/web --revision=7')).toMatchObject({
      code: 1,
      err: 'error: unable to find specified revision 7 in history; there are 1, 2\n',
    });
  });

  it('goes back to the revision before, and to one that is named', async () => {
    expect(await w.berth('rollout undo deployment/web --dry-run=server')).toMatchObject({
      code: 0,
      out: 'deployment.apps/web rolled back (server dry run)\n',
    });
    const dry = await w.berth('rollout undo deployment/web --dry-run=client');
    expect(dry.out).toMatch(/^deployment.apps\/web rolled back \(dry run\)\nPod Template:\n/);
    expect(await imageOf('web')).toBe('i:2');
    expect(await w.berth('rollout undo deployment/web')).toMatchObject({ code: 0, out: 'deployment.apps/web rolled back\n' });
    expect(await imageOf('web')).toBe('i:1');
    const { metadata } = await deployment('web');
    expect((metadata as JsonObject).annotations).not.toHaveProperty('kubernetes.io/change-cause');
    expect((await whileReady('web', 'rollout status deployment/web')).code).toBe(0);
    expect((await w.berth('rollout undo deployment/web --to-revision=3')).out).toBe(
      'deployment.apps/web skipped rollback (current template already matches revision 3)\n',
    );
    expect((await w.berth('rollout undo deployment/web --to-revision=2')).code).toBe(0);
    expect(await imageOf('web')).toBe('i:2');
    expect((await whileReady('web', 'rollout status deployment/web')).code).toBe(0);
  }, 60_000);

  it('pauses and resumes deployments', async () => {
    expect((await w.berth('rollout pause deployment/web')).out).toBe('deployment.apps/web paused\n');
    expect(await w.berth('rollout pause deployment/web')).toMatchObject({
      code: 1,
      err: 'error: deployments.apps "web" is already paused\n',
    });
    expect((await w.berth('rollout undo deployment/web')).err).toMatch(
      /^error: you cannot rollback a paused deployment; resume it/,
    );
    expect((await w.berth('rollout restart deployment/web')).err).toMatch(/can't restart paused deployment/);
    expect((await w.berth('rollout resume deployment/web')).out).toBe('deployment.apps/web resumed\n');
    expect((await w.berth('rollout resume deployment/web')).err).toBe('error: deployments.apps "web" is not paused\n');
  });

  it('restarts all deployments of the namespace, or those with labels', async () => {
    await w.berth('create deployment other --image=i:1');
    expect((await w.berth('rollout restart deployment')).out).toBe(
      'deployment.apps/other restarted\ndeployment.apps/web restarted\n',
    );
    const { spec } = (await deployment('web')) as { spec: { template: { metadata: { annotations: JsonObject } } } };
    expect(spec.template.metadata.annotations['kubectl.kubernetes.io/restartedAt']).toMatch(/^\d{4}-.*T.*:\d\dZ$/);
    // A restart is a time in whole seconds: a second one in the same second would be no change.
    await delay(1_000 - (Date.now() % 1_000));
    expect((await w.berth('rollout restart deploy -l app=other -o name')).out).toBe('deployment.apps/other\n');
  });

  it('says why a rollout stands still', async () => {
    await w.berth('create deployment stuck --image=none:1 --replicas=2');
    const pods = await w.waitForPods('stuck', 2);
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "none:1"' };
    const containerStatuses = [{ name: 'none', image: 'none:1', ready: false, state: { waiting } }];
    await w.say(pods, { phase: 'Pending', containerStatuses });
    await w.server.client.pods.list({ namespace: 'default' });
    const said = await w.berth('rollout status deployment/stuck --timeout=6s');
    const trouble = '2 pods with container "none" not starting, ImagePullBackOff: Back-off pulling image "none:1" (stuck-';
    expect(said.code).toBe(1);
    expect(said.out).toMatch(
      /^Waiting for deployment "stuck" rollout to finish: [\s\S]*0 of 2 updated replicas are available\.\.\.\n$/,
    );
    expect(said.err).toContain(`warning: ${trouble}`);
    expect(said.err).toContain(`error: timed out waiting for the condition on deployments/stuck\n  ${trouble}`);
    expect(said.err).toMatch(/"berth why deployment\/stuck" says more\n$/);
    expect(await w.berth('rollout status deployment/stuck --watch=false')).toMatchObject({
      code: 0,
      out: 'Waiting for deployment "stuck" rollout to finish: 0 of 2 updated replicas are available...\n',
    });
  }, 30_000);

  it('is an error at once when the progress deadline has passed', async () => {
    await w.server.client.deployments.patch(
      { namespace: 'default', name: 'stuck' },
      { spec: { progressDeadlineSeconds: 1, template: { metadata: { annotations: { a: 'b' } } } } },
    );
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "none:1"' };
    const fresh = (await w.waitForPods('stuck', 3)).filter(({ status }) => !status?.containerStatuses);
    await w.say(fresh, { containerStatuses: [{ name: 'none', image: 'none:1', ready: false, state: { waiting } }] });
    const said = await w.berth('rollout status deployment/stuck');
    expect(said).toMatchObject({ code: 1 });
    expect(said.err).toMatch(/error: deployment "stuck" exceeded its progress deadline\n/);
  }, 30_000);

  it.each(['StatefulSet', 'DaemonSet'])('goes back to a revision that a %s keeps', async (kind) => {
    const { objects } = w.server.client;
    const name = kind.toLowerCase();
    const labels = { app: name };
    const template = (image: string): JsonObject => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
    const made = await objects.create(kind, {
      metadata: { name, namespace: 'default' },
      spec: { selector: { matchLabels: labels }, template: template('i:3'), ...(kind === 'StatefulSet' && { serviceName: 's' }) },
    });
    const { uid = '' } = made.metadata as { uid?: string };
    for (const revision of [10, 11, 12])
      await objects.create('ControllerRevision', {
        metadata: {
          name: `${name}-old-${revision}`,
          namespace: 'default',
          labels,
          ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true }],
        },
        data: { spec: { template: { ...template(`i:${revision}`), $patch: 'replace' } } },
        revision,
      });
    const image = async () =>
      (
        (await objects.get(kind, { namespace: 'default', name })) as {
          spec: { template: { spec: { containers: JsonObject[] } } };
        }
      ).spec.template.spec.containers[0]?.image;
    const history = await w.berth(`rollout history ${kind}/${name} --revision=10`);
    expect(history.out).toMatch(/with revision #10\nPod Template:\n[\s\S]*Image: +i:10\n/);
    expect((await w.berth(`rollout undo ${kind}/${name} --to-revision=10`)).out).toBe(`${name}.apps/${name} rolled back\n`);
    expect(await image()).toBe('i:10');
    expect((await w.berth(`rollout restart ${kind}/${name}`)).out).toBe(`${name}.apps/${name} restarted\n`);
  });

  it.each([
    ['rollout status job/x', /rollout status is not supported on jobs.batch: it is for deployments, daemonsets, statefulsets/],
    ['rollout pause daemonset/x', /rollout pause is not supported on daemonsets.apps: it is for deployments/],
    ['rollout status deploy/none', /deployment "none" .*not found/],
    ['rollout status deploy -l app=nothing', /no resources found in default namespace/],
    ['rollout undo deploy/web --to-revision=x', /--to-revision takes the number of a revision/],
    ['rollout status deploy/web --revision=-1', /--revision takes the number of a revision/],
    ['rollout undo deploy/web --to-revision=99', /unable to find specified revision 99 in history/],
    ['rollout', /Usage/],
    ['rollout fly deploy/web', /unknown command 'fly'/],
  ])('berth %s is refused', async (words, err) => {
    const said = await w.berth(words);
    expect(said.code).toBe(1);
    expect(said.err).toMatch(err);
  });
});

describe('berth wait', () => {
  it('waits for workloads by condition, by a path, and for one that is yet to come', async () => {
    await w.berth('create deployment late --image=i:1 --replicas=1');
    const available = await whileReady('late', 'wait --for=condition=Available deployment/late --timeout=20s');
    expect(available).toEqual({ code: 0, out: 'deployment.apps/late condition met\n', err: '' });
    const path = await w.berth('wait --for=jsonpath={.status.updatedReplicas}=1 deploy/late --timeout=20s');
    expect(path).toMatchObject({ code: 0, out: 'deployment.apps/late condition met\n' });
    const created = await w.berth('wait --for=create deploy/late');
    expect(created).toMatchObject({ code: 0, out: 'deployment.apps/late condition met\n' });
  }, 60_000);

  it('says what is wrong with the pods while it waits, and when the time is over', async () => {
    const said = await w.berth('wait --for=condition=Available deployment/stuck --timeout=6s');
    expect(said).toMatchObject({ code: 1, out: '' });
    const [warning, error, reason] = said.err.trimEnd().split('\n');
    expect(warning).toMatch(/^warning: \d pods? with container "none" not starting, ImagePullBackOff/);
    expect(error).toBe('error: timed out waiting for the condition on deployments/stuck');
    expect(reason).toMatch(/^ {2}\d pods? with container "none" not starting/);
  }, 30_000);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { containerOf, createPodHouse, inspect, type PodHouse, type PodJson, podOf, script, stay } from './pods-fixture.ts';

let house: PodHouse;
beforeAll(async () => {
  house = await createPodHouse('resize');
}, 240_000);
afterAll(() => house.berth.purge(), 120_000);

interface Sized {
  readonly allocatedResources?: Record<string, string>;
  readonly resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

const sizeOf = (pod: PodJson) => containerOf(pod) as unknown as Sized;
const resize = (name: string, resources: object) =>
  house.berth.berth([
    'patch',
    'pod',
    name,
    '--subresource',
    'resize',
    '-p',
    JSON.stringify({ spec: { containers: [{ name: 'main', resources }] } }),
  ]);

/** What the kernel says inside of the container, whichever version of cgroups it shows. */
const memoryLimit = 'cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes';
const cpuQuota = 'cut -d" " -f1 /sys/fs/cgroup/cpu.max 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us';
const mebi = 1024 * 1024;

describe('the size of a pod that runs', () => {
  it('changes in place, restarts only what asks for it, and says what does not fit', async () => {
    const resources = { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    await house.apply(
      podOf('grows', [script(stay, { resources })]),
      podOf('restarts', [script(stay, { resources, resizePolicy })]),
      podOf('big', [script(`x=$(head -c ${24 * mebi} /dev/zero | tr '\\0' x); touch /tmp/full; ${stay}`, { resources })]),
    );
    const [grows] = await Promise.all(['grows', 'restarts', 'big'].map((name) => house.running(name)));
    expect(sizeOf(grows!)).toMatchObject({ allocatedResources: resources.requests, resources });
    // With less in it the limit would still fit.
    await house.sh('big', 'until [ -e /tmp/full ]; do sleep 0.1; done');

    const larger = { requests: { cpu: '100m', memory: '48Mi' }, limits: { cpu: '500m', memory: '128Mi' } };
    for (const name of ['grows', 'restarts']) expect(await resize(name, larger)).toMatchObject({ code: 0 });
    expect(await resize('big', { requests: { memory: '8Mi' }, limits: { memory: '16Mi' } })).toMatchObject({ code: 0 });
    const refused = await resize('grows', { limits: { memory: null } });
    expect(refused.stderr).toMatch(/resource limits cannot be removed/);

    const isLarge = (pod: PodJson) => sizeOf(pod).resources?.limits?.memory === '128Mi' && containerOf(pod).ready;
    const grown = await house.until('grows', 'has its new size', isLarge);
    expect(containerOf(grown)).toMatchObject({ restartCount: 0, containerID: containerOf(grows!).containerID });
    expect(sizeOf(grown)).toMatchObject({ allocatedResources: larger.requests, resources: larger });
    const { HostConfig } = await inspect(containerOf(grown).containerID);
    expect(HostConfig).toMatchObject({ Memory: 128 * mebi, CpuQuota: 50_000, CpuShares: 102 });
    expect((await house.sh('grows', memoryLimit)).trim()).toBe(String(128 * mebi));
    expect((await house.sh('grows', cpuQuota)).trim()).toBe('50000');

    const restarted = await house.until('restarts', 'has its new size', isLarge);
    expect(containerOf(restarted).restartCount).toBe(1);
    expect((await house.sh('restarts', memoryLimit)).trim()).toBe(String(128 * mebi));

    const inProgress = (pod: PodJson) => pod.status.conditions?.find(({ type }) => type === 'PodResizeInProgress');
    const stuck = await house.until('big', 'cannot shrink', (pod) => inProgress(pod)?.reason === 'Error');
    expect(inProgress(stuck)?.message).toMatch(/container memory limit \(16777216\) below current usage \(\d+\)/);
    expect((await house.sh('big', memoryLimit)).trim()).toBe(String(64 * mebi));

    await resize('grows', { requests: { cpu: '1000' }, limits: { cpu: '1000' } });
    const pending = (pod: PodJson) => pod.status.conditions?.find(({ type }) => type === 'PodResizePending');
    await house.until('grows', 'waits for ever', (pod) => pending(pod)?.reason === 'Infeasible');
    // Events are sent a moment after the status.
    const reasons = async () => (await house.events('grows')).map(({ reason }) => reason);
    await eventually('the refusal is told', async () => (await reasons()).includes('ResizeInfeasible') || undefined);
    expect(await reasons()).toEqual(expect.arrayContaining(['ResizeStarted', 'ResizeCompleted']));
  });
});

import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { type PodBuilder, pod } from '../../test/builders/index.ts';
import { choosePods, type DrainConsent } from './choose-pods.ts';

const now = Date.UTC(2026, 0, 1);
const owned = (name: string, kind = 'ReplicaSet'): PodBuilder =>
  pod(name)
    .on('n1')
    .with(({ metadata }) => {
      metadata!.ownerReferences = [{ apiVersion: 'apps/v1', kind, name: 'owner', uid: 'u', controller: true }];
    });
const bare = pod('bare').on('n1');
const cache = owned('cache').volume({ name: 'c', volumeSource: { emptyDir: {} } });
const guard = owned('guard', 'DaemonSet');

function choose(builders: readonly PodBuilder[], consent: DrainConsent = {}) {
  const built: Pod[] = builders.map((each) => each.build());
  const { pods, warnings, refusals } = choosePods(built, consent, now);
  return { pods: pods.map(({ metadata }) => metadata?.name), warnings, refusals };
}

describe('a drain', () => {
  it('ends pods that are made again elsewhere, without a word', () => {
    expect(choose([owned('web')])).toEqual({ pods: ['web'], warnings: [], refusals: [] });
  });

  it.each<[string, PodBuilder, DrainConsent, string, string]>([
    ['nothing makes again', bare, { force: true }, '--force', 'deleting pods for good that no controller owns: default/bare'],
    [
      'have data in an emptyDir',
      cache,
      { deleteEmptydirData: true },
      '--delete-emptydir-data',
      'deleting pods with data in an emptyDir: default/cache',
    ],
  ])('refuses pods that %s, unless told to', (_, builder, consent, flag, warning) => {
    const refused = choose([builder, owned('web')]);
    expect(refused).toMatchObject({ pods: [], refusals: [expect.stringContaining(`use ${flag}`)] });
    expect(choose([builder], consent)).toEqual({ pods: [builder.build().metadata?.name], warnings: [warning], refusals: [] });
  });

  it('leaves the pods of DaemonSets, when told to', () => {
    expect(choose([guard]).refusals).toEqual([
      'cannot delete pods that a DaemonSet would make again (use --ignore-daemonsets to leave them): default/guard',
    ]);
    const left = choose([guard, owned('web')], { ignoreDaemonsets: true });
    expect(left).toEqual({ pods: ['web'], warnings: ['leaving pods of DaemonSets: default/guard'], refusals: [] });
  });

  it('says everything that it is refused for at once', () => {
    expect(choose([guard, bare, cache, pod('other').on('n1')]).refusals).toHaveLength(3);
    expect(choose([bare, pod('a').on('n1')]).refusals[0]).toMatch(/: default\/a, default\/bare$/);
  });

  it('ends pods that have ended whatever they lose, and leaves mirrors of static pods', () => {
    const mirror = bare.annotations({ 'kubernetes.io/config.mirror': 'x' });
    expect(choose([bare.phase('Succeeded'), mirror])).toEqual({ pods: ['bare'], warnings: [], refusals: [] });
  });

  it('skips pods that have been leaving for longer than it waits', () => {
    const old = owned('old').deleting(now - 61_000);
    const young = owned('young').deleting(now - 59_000);
    expect(choose([old, young]).pods).toEqual(['old', 'young']);
    expect(choose([old, young], { skipWaitForDeleteTimeout: 60 }).pods).toEqual(['young']);
  });
});

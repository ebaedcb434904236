import { describe, expect, it } from 'vitest';
import type { Pod } from '../api/generated/types.ts';
import { deepFreeze } from '../api/meta/deep-freeze.ts';
import { pod } from '../test/builders/index.ts';
import { podInfo } from './framework/pod-info.ts';
import { createPodOutline } from './pod-outline.ts';

const time = { seconds: 1_700_000_000 };

/** A pod that says much, as one of many copies. */
function copy(name: string): Pod {
  const resources = { requests: { cpu: { string: '100m' }, 'example.com/gpu': { string: '1' } } };
  return pod(name)
    .labels({ app: 'web' })
    .annotations({ team: 'red', 'kubectl.kubernetes.io/last-applied-configuration': '{}' })
    .on('n1')
    .container('main', {
      image: 'web:1',
      resources,
      ports: [{ hostPort: 80 }],
      env: [{ name: 'NAME', value: name }],
      command: ['serve', name],
    })
    .initContainer('proxy', { restartPolicy: 'Always', resources, args: [name] })
    .toleration({ key: 'k', operator: 'Exists' })
    .nodeSelector({ disk: 'ssd' })
    .volume({ name: 'data', volumeSource: { persistentVolumeClaim: { claimName: 'data' } } })
    .status({
      phase: 'Running',
      podIP: '10.0.0.7',
      startTime: time,
      containerStatuses: [
        { name: 'main', containerID: `docker://${name}`, allocatedResources: { cpu: { string: '200m' } } },
        { name: 'other', containerID: `docker://other-${name}` },
      ],
      initContainerStatuses: [{ name: 'proxy', containerID: `docker://proxy-${name}` }],
    })
    .condition({ type: 'PodScheduled', status: 'True', lastTransitionTime: time })
    .condition({ type: 'Ready', status: 'True', lastTransitionTime: { seconds: name.length } })
    .with(({ metadata }) => Object.assign(metadata!, { managedFields: [{ manager: 'me' }], resourceVersion: '7' }))
    .build();
}

describe('pod outline', () => {
  it('leaves out what is never read, and keeps the rest', () => {
    const { metadata, spec, status } = createPodOutline()(copy('web'));
    expect(metadata).not.toHaveProperty('managedFields');
    expect(metadata).toMatchObject({ name: 'web', namespace: 'default', resourceVersion: '7', labels: { app: 'web' } });
    expect(metadata?.annotations).toEqual({ team: 'red' });
    expect(spec?.containers).toEqual([{ name: 'main', image: 'web:1', resources: expect.anything(), ports: [{ hostPort: 80 }] }]);
    expect(spec).toMatchObject({ nodeName: 'n1', nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'k' }] });
    expect(status).toEqual({
      phase: 'Running',
      startTime: time,
      conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: time }],
      containerStatuses: [{ name: 'main', allocatedResources: { cpu: { string: '200m' } } }],
    });
  });

  it('says to the scheduler what the whole pod says', () => {
    const whole = copy('web');
    const { pod: _, ...said } = podInfo(createPodOutline()(whole));
    const { pod: __, ...wanted } = podInfo(whole);
    expect(said).toEqual(wanted);
  });

  it('shares what copies have in common', () => {
    const outline = createPodOutline();
    const [a, b] = [outline(copy('web-1')), outline(copy('web-2'))];
    expect(a.metadata?.name).not.toBe(b.metadata?.name);
    expect(a.metadata?.labels).toBe(b.metadata?.labels);
    for (const part of ['containers', 'initContainers', 'tolerations', 'volumes'] as const)
      expect(a.spec?.[part], part).toBe(b.spec?.[part]);
    for (const part of ['conditions', 'startTime', 'containerStatuses'] as const)
      expect(a.status?.[part], part).toBe(b.status?.[part]);
  });

  it('keeps apart what differs, also where a text reads as another part', () => {
    const outline = createPodOutline();
    const first = outline(pod('a').labels({ app: 'web' }).build());
    const second = outline(pod('b').labels({ app: 'db' }).spec({ schedulerName: '{"app":"web"}' }).build());
    expect(first.metadata?.labels).toEqual({ app: 'web' });
    expect(second.metadata?.labels).toEqual({ app: 'db' });
    expect(second.spec?.schedulerName).toBe('{"app":"web"}');
  });

  it('changes nothing of what it is given', () => {
    expect(() => createPodOutline()(deepFreeze(copy('web')))).not.toThrow();
  });

  it('forgets parts that were not asked for lately, and remembers the others', () => {
    const outline = createPodOutline({ remembered: 2 });
    const labelsOf = (app: string) => outline({ metadata: { labels: { app } } }).metadata?.labels;
    const [used, idle] = [labelsOf('used'), labelsOf('idle')];
    for (const app of ['a', 'b', 'c', 'd', 'e']) {
      labelsOf(app);
      expect(labelsOf('used')).toBe(used);
    }
    expect(labelsOf('idle')).toEqual(idle);
    expect(labelsOf('idle')).not.toBe(idle);
  });

  it('takes a pod that has nothing but a version, as a bookmark does', () => {
    expect(createPodOutline()({ metadata: { resourceVersion: '9' } })).toEqual({ metadata: { resourceVersion: '9' } });
    expect(createPodOutline()({})).toEqual({});
  });
});

import { describe, expect, it } from 'vitest';
import { jsonFields } from '../../api/codec/json-fields.ts';
import { comments } from '../../api/generated/comments.ts';
import { kinds } from '../../api/kinds/index.ts';
import { below, locate, type Place, pathText } from './locate.ts';
import { explainPlace, explainTree } from './print.ts';
import { computeRules } from './rules.ts';

const explained = (path: string) => explainPlace(locate(path), comments);
const rules = (path: string) => computeRules(locate(path).kind, locate(path).steps);

/** Every place below one, however deep. */
function placesBelow(place: Place): Place[] {
  return (below(place) ? jsonFields(below(place)!) : []).flatMap((field) => {
    const inner = { kind: place.kind, steps: [...place.steps, field] };
    return [inner, ...placesBelow(inner)];
  });
}

describe('a path', () => {
  it.each([
    ['pod', 'pod'],
    ['Pods.spec', 'pod.spec'],
    ['po.spec.containers[0].image', 'pod.spec.containers.image'],
    ['po.spec.containers[].env[]', 'pod.spec.containers.env'],
    ['pod.spec.', 'pod.spec'],
    ['pod.spec.volumes.configMap.name', 'pod.spec.volumes.configMap.name'],
  ])('"%s" names %s', (path, expected) => expect(pathText(locate(path))).toBe(expected));

  it.each([
    ['things.spec', 'the server has no resource type "things"'],
    ['pod.spec.contaners', '"pod.spec" has no field "contaners"; did you mean "containers"?'],
    ['lease.spec.x', '"lease.spec" has no field "x"; it has holderIdentity, leaseDurationSeconds'],
    ['pod.metadata.name.x', '"pod.metadata.name" is a value; it has no field "x"'],
    ['pod.spec.volumes.volumeSource', '"pod.spec.volumes" has no field "volumeSource"'],
  ])('"%s" is answered plainly', (path, message) => expect(() => locate(path)).toThrow(message));
});

describe('what a kind demands', () => {
  it('is found out by asking its validation', () => {
    expect(rules('pod.spec.containers')).toEqual({ required: true, values: [] });
    expect(rules('pod.spec.containers.name').required).toBe(true);
    expect(rules('pod.spec.volumes.configMap.name').required).toBe(true);
    expect(rules('pod.spec.restartPolicy')).toEqual({ required: false, values: ['Always', 'OnFailure', 'Never'] });
    expect(rules('pod.spec.containers.ports.protocol').values).toEqual(['TCP', 'UDP', 'SCTP']);
    expect(rules('event.type').values).toEqual(['Normal', 'Warning']);
  });

  it('is never the name or the namespace, which the server or the sender may add', () => {
    expect(rules('pod.metadata.name').required).toBe(false);
    expect(rules('pod.metadata.namespace').required).toBe(false);
  });

  it.each(kinds.map((kind) => [kind.kind, kind] as const))('can be asked of every field of %s', (_name, kind) => {
    const places = placesBelow({ kind, steps: [] });
    expect(places.length).toBeGreaterThan(10);
    for (const place of places) expect(() => computeRules(kind, place.steps), pathText(place)).not.toThrow();
  });
});

describe('an explanation', () => {
  it('shows a value with its type, its values, whether Berth acts on it, and what it means', () => {
    expect(explained('pod.spec.restartPolicy')).toBe(`KIND:       Pod
VERSION:    v1

FIELD: restartPolicy <string>
ENUM:
    Always
    OnFailure
    Never
SUPPORT: works

DESCRIPTION:
    "Always" (the default), "OnFailure" or "Never": whether ended containers start again. Written by the
    client.
`);
  });

  it('shows the fields of an object in order, with what each demands and what Berth does with it', () => {
    const lease = explained('leases.spec');
    expect(lease).toMatch(/^GROUP: {6}coordination\.k8s\.io\nKIND: {7}Lease\nVERSION: {4}v1\n\nFIELD: spec <LeaseSpec>\n/);
    expect(lease).toContain('SUPPORT: partly; see its fields\n');
    expect(lease).toContain('  acquireTime <MicroTime>\n    When the holder got it');
    expect(lease).toContain(
      '  strategy <string> (warned)\n    How the holder is chosen when several ask, e.g. "OldestEmulationVersion". Written by who coordinates.\n' +
        '    accepted with a warning: candidates are not compared; the first gets the lease\n',
    );
    const container = explained('pod.spec.containers');
    expect(container).toContain('  name <string> -required-\n');
    expect(container).toMatch(/ {2}volumeDevices <\[\]VolumeDevice> \(refused\)\n.*\n {4}refused: /);
    expect(container.indexOf('  args <')).toBeLessThan(container.indexOf('  command <'));
  });

  it('shows fields where users write them, not where the wire has them', () => {
    expect(explained('pod.spec.volumes')).toContain('  hostPath <HostPathVolumeSource>\n');
    expect(explained('pod.spec.volumes')).not.toContain('volumeSource');
  });

  it('of a whole tree shows every field that is not below a refused one', () => {
    const tree = explainTree(locate('pod.spec.volumes'));
    expect(tree).toContain('\n  hostPath <HostPathVolumeSource>\n    path <string> -required-\n    type <string>\n');
    expect(tree).toContain('\n  nfs <NFSVolumeSource> (refused)\n  persistentVolumeClaim');
  });

  it('has a text for every field of every kind', () => {
    for (const kind of kinds)
      for (const { steps } of placesBelow({ kind, steps: [] })) {
        const field = steps.at(-1)!;
        expect(comments[field.parent!.fullName.slice(1)]?.[field.name], pathText({ kind, steps })).toMatch(/\S{2}/);
      }
  });
});

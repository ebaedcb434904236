import { describe, expect, it } from 'vitest';
import type { ControllerRevision, PodTemplateSpec } from '../../api/generated/types.ts';
import { decideRevision, decideTruncation, inOrder, nameOfRevision, newRevision } from './history.ts';
import { dataOfTemplate, isRevisionOf, templateOfRevision } from './revision-data.ts';

const templateOf = (image: string, cpu = '1'): PodTemplateSpec => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image, resources: { requests: { cpu: { string: cpu } } } }] },
});
const revisionOf = (name: string, revision: number, image = name, createdAt = 0): ControllerRevision => ({
  metadata: { name, creationTimestamp: { seconds: createdAt } },
  revision,
  data: dataOfTemplate(templateOf(image)),
});
const raw = (text: string): ControllerRevision => ({ data: { raw: Buffer.from(text) } });

describe('the data of a revision', () => {
  it("is to the byte what Kubernetes' controllers write, since kubectl compares the bytes", () => {
    const containers = [{ name: 'c', image: 'i', command: ['a<b>&c'] }];
    const { raw } = dataOfTemplate({ metadata: { labels: { b: '1', a: '2' } }, spec: { containers, dnsPolicy: 'Default' } });
    expect(raw!.toString()).toBe(
      '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"a":"2","b":"1"}},' +
        '"spec":{"containers":[{"command":["a\\u003cb\\u003e\\u0026c"],"image":"i","name":"c"}],"dnsPolicy":"Default"}}}}',
    );
  });

  it('has labels that are numbers in the order of their text', () => {
    const labels = { '9': 'a', '10': 'b', '-': 'c' };
    const { raw } = dataOfTemplate({ metadata: { labels } });
    expect(raw!.toString()).toContain('"labels":{"-":"c","10":"b","9":"a"}');
    expect(isRevisionOf({ data: { raw: raw! } }, { metadata: { labels: { '-': 'c', '10': 'b', '9': 'a' } } })).toBe(true);
  });

  it('is a patch that puts the template back', () => {
    const { raw: bytes } = dataOfTemplate(templateOf('i:1'));
    expect(JSON.parse(bytes!.toString())).toEqual({
      spec: {
        template: {
          metadata: { creationTimestamp: null, labels: { app: 'web' } },
          spec: { containers: [{ name: 'c', image: 'i:1', resources: { requests: { cpu: '1' } } }] },
          $patch: 'replace',
        },
      },
    });
  });

  it('gives the template back', () => {
    expect(templateOfRevision(revisionOf('a', 1))).toEqual(templateOf('a'));
  });

  it('is compared by meaning', () => {
    const revision = revisionOf('a', 1);
    expect(isRevisionOf(revision, templateOf('a'))).toBe(true);
    expect(isRevisionOf(revision, templateOf('a', '1000m'))).toBe(true);
    expect(isRevisionOf(revision, templateOf('a', '2'))).toBe(false);
  });

  it.each([
    ['no JSON', '{'],
    ['no template', '{"spec":{}}'],
    ['no object', '[]'],
    ['a field that is not known', '{"spec":{"template":{"spec":{"later":1}}}}'],
    ['nothing', ''],
  ])('that is %s is no template, and equals none', (_, text) => {
    expect(templateOfRevision(raw(text))).toBeUndefined();
    expect(isRevisionOf(raw(text), {})).toBe(false);
  });
});

describe('the revision of the present template', () => {
  const shown = (revisions: readonly ControllerRevision[], image: string): string => {
    const step = decideRevision(inOrder(revisions), templateOf(image));
    if (step.do === 'create') return `create ${step.number}`;
    return step.do === 'nothing' ? nameOfRevision(step.update) : `${nameOfRevision(step.revision)} becomes ${step.number}`;
  };
  it.each<[string, readonly ControllerRevision[], string, string]>([
    ['is made when there is none', [], 'a', 'create 1'],
    ['is made when the template is new', [revisionOf('a', 3), revisionOf('b', 4)], 'c', 'create 5'],
    ['is the newest one', [revisionOf('b', 4), revisionOf('a', 3)], 'b', 'b'],
    ['is one of before, which becomes the newest', [revisionOf('a', 3), revisionOf('b', 4)], 'a', 'a becomes 5'],
    ['is the younger of two with one number', [revisionOf('a', 3, 'a', 20), revisionOf('b', 3, 'b', 10)], 'a', 'a'],
    [
      'is the newer of two that mean the same',
      [revisionOf('a', 1, 'x'), revisionOf('b', 2, 'x'), revisionOf('c', 3)],
      'x',
      'b becomes 4',
    ],
  ])('%s', (_, revisions, image, outcome) => expect(shown(revisions, image)).toBe(outcome));
});

describe('the history', () => {
  const revisions = inOrder(['a', 'b', 'c', 'd'].map((name, nth) => revisionOf(name, nth)));
  it.each([
    ['keeps what is within the limit', 4, '', ''],
    ['loses the oldest beyond the limit', 2, '', 'a b'],
    ['keeps what lives, which does not count', 1, 'a d', 'b'],
    ['keeps nothing but what lives where the limit is 0', 0, 'd', 'a b c'],
  ])('%s', (_, limit, live, gone) => {
    const isLive = (revision: ControllerRevision) => live.split(' ').includes(nameOfRevision(revision));
    expect(decideTruncation(revisions, { isLive, limit }).map(nameOfRevision).join(' ')).toBe(gone);
  });
});

describe('a new revision', () => {
  const kind = {
    kind: { apiVersion: 'apps/v1', kind: 'StatefulSet' },
    hashLabel: 'controller.kubernetes.io/hash',
    longestName: 63,
  };
  const annotations = { 'kubernetes.io/change-cause': 'why', 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
  const objectOf = (name: string, collisionCount?: number) => ({
    metadata: { namespace: 'a', name, uid: 's1', annotations },
    spec: { template: templateOf('i:1') },
    status: { ...(collisionCount !== undefined && { collisionCount }) },
  });

  it('has a name that follows from the template, its labels and a hash, and the cause of the change', () => {
    const { metadata, revision } = newRevision(kind, objectOf('web'), 7);
    const hash = metadata?.labels?.['controller.kubernetes.io/hash'] ?? '';
    expect(hash).toMatch(/^[a-z0-9]{5,10}$/);
    expect(metadata).toMatchObject({ namespace: 'a', name: `web-${hash}`, labels: { app: 'web' } });
    expect(metadata?.annotations).toEqual({ 'kubernetes.io/change-cause': 'why' });
    expect(metadata?.ownerReferences).toMatchObject([{ kind: 'StatefulSet', uid: 's1', controller: true }]);
    expect(revision).toBe(7);
  });

  it('has another name after a collision, and the same before and after the first status', () => {
    const nameOf = (collisions?: number) => nameOfRevision(newRevision(kind, objectOf('web', collisions), 1));
    expect(nameOf(0)).toBe(nameOf());
    expect(nameOf(1)).not.toBe(nameOf());
  });

  it('has a name that is the value of a label, however long that of the set is', () => {
    const name = nameOfRevision(newRevision(kind, objectOf('a'.repeat(63)), 1));
    expect(name.length).toBeLessThanOrEqual(63);
    expect(nameOfRevision(newRevision({ ...kind, longestName: 20 }, objectOf('abcdefgh.-xyz.-xyz'), 1))).toMatch(
      /[a-z]-[a-z0-9]+$/,
    );
  });
});

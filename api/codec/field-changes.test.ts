import { describe, expect, it, vi } from 'vitest';
import type { Pod } from '../generated/types.ts';
import { fieldChanges } from './field-changes.ts';

const compare = (before: Pod, after: Pod) => fieldChanges('berth.core.v1.Pod', before, after);

describe('what changed between two versions', () => {
  it('is nothing between equal ones', () => {
    const pod: Pod = { metadata: { labels: { a: '1' } }, spec: { containers: [{ name: 'c', image: 'x' }] } };
    expect(compare(pod, structuredClone(pod))).toEqual({ changed: {}, removed: {} });
  });

  it('is told by field, by key of a map and by item of a list', () => {
    const before: Pod = {
      metadata: { labels: { a: '1', b: '2', c: '3' } },
      spec: { nodeName: 'n1', containers: [{ name: 'x', image: 'old' }, { name: 'gone' }] },
    };
    const after: Pod = {
      metadata: { labels: { a: '1', b: 'new' } },
      spec: {
        containers: [
          { name: 'added', image: 'i' },
          { name: 'x', image: 'new' },
        ],
      },
    };
    expect(compare(before, after)).toEqual({
      changed: {
        'f:metadata': { 'f:labels': { 'f:b': {} } },
        'f:spec': {
          'f:containers': {
            'k:{"name":"added"}': { '.': {}, 'f:name': {}, 'f:image': {} },
            'k:{"name":"x"}': { 'f:image': {} },
          },
        },
      },
      removed: {
        'f:metadata': { 'f:labels': { 'f:c': {} } },
        'f:spec': { 'f:nodeName': {}, 'f:containers': { 'k:{"name":"gone"}': {} } },
      },
    });
  });

  it('names a map or a list that was not there before, and a message by its members', () => {
    expect(compare({}, { metadata: { annotations: { a: '1' }, finalizers: ['x/y'] }, spec: { securityContext: {} } })).toEqual({
      changed: {
        'f:metadata': { 'f:annotations': { '.': {}, 'f:a': {} }, 'f:finalizers': { '.': {}, 'v:"x/y"': {} } },
        'f:spec': { 'f:securityContext': {} },
      },
      removed: {},
    });
  });

  it('of a map of many equal entries makes nothing for them', () => {
    const data = (last: string) => Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, i < 1_999 ? '' : last]));
    const [before, after] = [{ data: data('a') }, { data: data('b') }];
    const entries = vi.spyOn(Object, 'entries');
    const { changed } = fieldChanges('berth.core.v1.ConfigMap', before, after);
    const read = entries.mock.calls.length;
    entries.mockRestore();
    expect(read).toBe(0);
    expect(changed).toEqual({ 'f:data': { 'f:k1999': {} } });
  });

  it('is the whole list where items cannot be told apart, or are one value', () => {
    const pod = (command: string[], names: string[]): Pod => ({
      spec: { hostname: command[0]!, containers: names.map((name) => ({ name, command })) },
    });
    expect(compare(pod(['a'], ['x']), pod(['b'], ['x'])).changed).toEqual({
      'f:spec': { 'f:hostname': {}, 'f:containers': { 'k:{"name":"x"}': { 'f:command': {} } } },
    });
    expect(compare(pod(['a'], ['x', 'y']), pod(['a'], ['x', 'x'])).changed).toEqual({ 'f:spec': { 'f:containers': {} } });
  });

  it('takes times and quantities as one value', () => {
    const pod = (cpu: string, seconds: number): Pod => ({
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: { string: cpu } } } }] },
      status: { startTime: { seconds } },
    });
    expect(compare(pod('1', 5), pod('2', 6)).changed).toEqual({
      'f:spec': { 'f:containers': { 'k:{"name":"c"}': { 'f:resources': { 'f:requests': { 'f:cpu': {} } } } } },
      'f:status': { 'f:startTime': {} },
    });
  });

  it('shows the members of an inlined message where the JSON form has them', () => {
    const volume = (path: string): Pod => ({ spec: { volumes: [{ name: 'v', volumeSource: { hostPath: { path } } }] } });
    expect(compare(volume('/a'), volume('/b')).changed).toEqual({
      'f:spec': { 'f:volumes': { 'k:{"name":"v"}': { 'f:hostPath': { 'f:path': {} } } } },
    });
  });
});

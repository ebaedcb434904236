import { expect, it } from 'vitest';
import type { JsonObject } from '../meta/merge-patch.ts';
import { computeFieldDifferences } from './field-differences.ts';

/** "path: before -> after" of two pods. */
const changes = (before: JsonObject, after: JsonObject): string[] =>
  computeFieldDifferences('berth.core.v1.Pod', before, after).map(
    (each) => `${each.path}: ${JSON.stringify(each.before)} -> ${JSON.stringify(each.after)}`,
  );

it('names fields of objects, and nothing where nothing differs', () => {
  const pod = { metadata: { name: 'web', labels: { app: 'web' } }, spec: { nodeName: 'n1' } };
  expect(changes(pod, structuredClone(pod))).toEqual([]);
  expect(changes(pod, { ...pod, spec: { nodeName: 'n2', hostNetwork: true } })).toEqual([
    'spec.nodeName: "n1" -> "n2"',
    'spec.hostNetwork: undefined -> true',
  ]);
});

it('tells added and removed objects field by field', () => {
  expect(changes({ metadata: {} }, { metadata: { labels: { app: 'web', tier: 'a' } } })).toEqual([
    'metadata.labels.app: undefined -> "web"',
    'metadata.labels.tier: undefined -> "a"',
  ]);
  expect(changes({ status: { phase: 'Running' } }, {})).toEqual(['status.phase: "Running" -> undefined']);
});

it('quotes keys that are no plain names', () => {
  const labels = (value: string) => ({ metadata: { labels: { 'example.com/team': value, 'a-b': value } } });
  expect(changes(labels('x'), labels('y'))).toEqual([
    'metadata.labels["example.com/team"]: "x" -> "y"',
    'metadata.labels.a-b: "x" -> "y"',
  ]);
});

it('compares items by their key, wherever they stand', () => {
  const web = { name: 'web', image: 'web:1', ports: [{ containerPort: 80 }] };
  const sidecar = { name: 'sidecar', image: 's' };
  expect(
    changes(
      { spec: { containers: [web, sidecar] } },
      { spec: { containers: [{ ...web, image: 'web:2', ports: [{ containerPort: 80, name: 'http' }] }, { name: 'new' }] } },
    ),
  ).toEqual([
    'spec.containers[name=web].image: "web:1" -> "web:2"',
    'spec.containers[name=web].ports[containerPort=80].name: undefined -> "http"',
    'spec.containers[name=sidecar]: {"name":"sidecar","image":"s"} -> undefined',
    'spec.containers[name=new]: undefined -> {"name":"new"}',
  ]);
});

it('compares conditions by type and container statuses by name, also in a status that is new', () => {
  const ready = (status: string) => ({ type: 'Ready', status });
  expect(
    changes(
      { status: { conditions: [ready('False')] } },
      { status: { conditions: [ready('True'), { type: 'X', status: 'True' }] } },
    ),
  ).toEqual([
    'status.conditions[type=Ready].status: "False" -> "True"',
    'status.conditions[type=X]: undefined -> {"type":"X","status":"True"}',
  ]);
  expect(changes({}, { status: { containerStatuses: [{ name: 'web', ready: true }] } })).toEqual([
    'status.containerStatuses[name=web]: undefined -> {"name":"web","ready":true}',
  ]);
});

it('takes lists without keys, and such with doubled keys, as one value', () => {
  expect(
    changes(
      { spec: { containers: [{ name: 'web', args: ['a'] }] } },
      { spec: { containers: [{ name: 'web', args: ['a', 'b'] }] } },
    ),
  ).toEqual(['spec.containers[name=web].args: ["a"] -> ["a","b"]']);
  const doubled = (value: string) => ({ spec: { tolerations: [{ key: 'a' }, { key: value }] } });
  expect(changes(doubled('a'), doubled('b'))).toEqual([
    'spec.tolerations: [{"key":"a"},{"key":"a"}] -> [{"key":"a"},{"key":"b"}]',
  ]);
});

it('says that the order of items has changed', () => {
  const containers = [{ name: 'a' }, { name: 'b' }];
  expect(changes({ spec: { containers } }, { spec: { containers: [...containers].reverse() } })).toEqual([
    'spec.containers: [{"name":"a"},{"name":"b"}] -> [{"name":"b"},{"name":"a"}]',
  ]);
});

it('keeps apart an empty value, none, and a member with a strange name', () => {
  expect(changes({ spec: {} }, { spec: { securityContext: {} } })).toEqual(['spec.securityContext: undefined -> {}']);
  expect(changes({ spec: { a: [] } }, { spec: {} })).toEqual(['spec.a: [] -> undefined']);
  const odd = JSON.parse('{"metadata": {"labels": {"__proto__": "x", "constructor": "y"}}}') as JsonObject;
  expect(changes({ metadata: { labels: { app: 'a' } } }, odd)).toEqual([
    'metadata.labels.app: "a" -> undefined',
    'metadata.labels.__proto__: undefined -> "x"',
    'metadata.labels.constructor: undefined -> "y"',
  ]);
});

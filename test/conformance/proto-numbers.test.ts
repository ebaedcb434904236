import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
// @ts-expect-error a plain script without types
import { parseFields } from '../../hack/kubernetes-fields.js';
import fixture from './kubernetes-fields.json' with { type: 'json' };
import { groups, isEnvelope, messagesOf, ours, root, typeName } from './proto-descriptors.ts';

const kubernetes = fixture as Record<string, Record<string, string>>;

/** Fields that Berth adds to a message of Kubernetes; numbers from 1000 on, so that none is ever taken. */
const added: Record<string, string> = { 'core.v1.NodeStatus.usage': "the machine's figures, Berth's own" };

/** Fields of a message of Kubernetes that Berth's message leaves out. */
const leftOut: Record<string, string> = {
  'meta.v1.ListOptions.shardSelector': 'lists are not sharded; an unknown field in a request is refused',
  'meta.v1.ListOptions.watch': 'Watch is a method of its own',
};

/** Fields that have the name of their JSON form here, which Kubernetes' protobuf spells differently. */
const renamed: Record<string, string> = {
  'authentication.v1.BoundObjectReference.uID': 'uid',
  'networking.v1.IngressClassParametersReference.aPIGroup': 'apiGroup',
  'admissionregistration.v1.Validation.Expression': 'expression',
  'admissionregistration.v1.Variable.Expression': 'expression',
  'admissionregistration.v1.Variable.Name': 'name',
  'admissionregistration.v1.MutatingWebhookConfiguration.Webhooks': 'webhooks',
  'admissionregistration.v1.ValidatingWebhookConfiguration.Webhooks': 'webhooks',
};

const messages = groups.flatMap((group) =>
  messagesOf(group).map((message) => ({ group, message, name: `${group}.${message.name}` })),
);

/** Where the list keeps what Berth has in meta.v1. */
const wanted = (group: string, name: string): string | undefined =>
  kubernetes[group]?.[name] ??
  (group === 'meta.v1'
    ? (kubernetes.resource?.[name] ?? kubernetes['util.intstr']?.[name] ?? kubernetes.runtime?.[name])
    : undefined);

const fieldsOf = (text: string): { number: number; name: string; type: string }[] =>
  text === ''
    ? []
    : text.split('; ').map((field) => {
        const [number, name, ...type] = field.split(' ');
        return { number: Number(number), name: name!, type: type.join(' ') };
      });

/** The type as Kubernetes' list writes it, from ours: "[]Volume", "map<string, Quantity>", without the group. */
function written(field: protobuf.Field): string {
  const name = typeName(field).replace('google.protobuf.Timestamp', 'Time').replace(/^.*\./, '');
  const time = field.options?.['(berth.meta.v1.micro_time)'] === true ? 'MicroTime' : name;
  if (field instanceof protobuf.MapField) return `map<${field.keyType}, ${time}>`;
  return field.repeated ? `[]${time}` : time;
}

const withoutGroup = (type: string): string => type.replace(/[a-z][a-z0-9]*(\.[a-z0-9]+)*\.(?=[A-Z])/g, '');

describe('the numbers and types of the protos are those of Kubernetes', () => {
  const shared = messages.filter(({ group, message }) => wanted(group, message.name) !== undefined);

  it.each(shared)('$name', ({ group, message, name }) => {
    const theirs = fieldsOf(wanted(group, message.name)!).filter((field) => !(`${name}.${field.name}` in leftOut));
    const mine = message.fieldsArray.filter((field) => !(`${name}.${field.name}` in added));
    const nameOf = (field: { name: string }): string => renamed[`${name}.${field.name}`] ?? field.name;
    const lines = theirs.map((field) => `${field.number} ${nameOf(field)} ${withoutGroup(field.type)}`);
    expect(mine.map((field) => `${field.id} ${field.name} ${written(field)}`).sort()).toEqual(lines.sort());
  });

  it('compares more than a hundred messages', () => {
    expect(shared.length).toBeGreaterThan(100);
  });

  it('knows every message that Kubernetes does not have', () => {
    const unknown = messages.filter(({ group, message }) => wanted(group, message.name) === undefined && !isEnvelope(message));
    expect(unknown.map(({ name }) => name).sort()).toEqual(Object.keys(ours).sort());
  });

  it('gives added fields numbers that Kubernetes will not take', () => {
    const ids = messages.flatMap(({ message, name }) =>
      message.fieldsArray.filter((field) => `${name}.${field.name}` in added).map((field) => field.id),
    );
    expect(ids).toHaveLength(Object.keys(added).length);
    expect(Math.min(...ids)).toBeGreaterThan(1000);
  });

  it('keeps every field that a list is keyed by', () => {
    const keys = (path: string) =>
      root.lookupType('berth.core.v1.Container').fields[path]?.options?.['(berth.meta.v1.list_map_key)'];
    expect(keys('ports')).toEqual(['containerPort', 'protocol']);
    expect(keys('env')).toEqual(['name']);
  });

  it('lists nothing as left out that is there', () => {
    const there = messages.flatMap(({ message, name }) => message.fieldsArray.map((field) => `${name}.${field.name}`));
    expect(Object.keys(leftOut).filter((path) => there.includes(path))).toEqual([]);
  });
});

const list = fileURLToPath(new URL('../../../shared/kubernetes-fields.txt', import.meta.url));

// Only where the list itself is at hand; the fixture that was made from it is always checked above.
const describeWithList = existsSync(list) ? describe : () => undefined;
describeWithList('the checked-in field numbers', () => {
  it('are those of the list beside this clone', () => {
    expect(kubernetes).toEqual(parseFields(readFileSync(list, 'utf8')));
  });
});

// The model files only: the package's index loads undici 8, which does not load on Node 20.
import * as models from '@kubernetes/client-node/dist/gen/models/all.js';
import type protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { groups, isEnvelope, jsonFields, messagesOf, ours, typeName } from './proto-descriptors.ts';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}
interface Model {
  getAttributeTypeMap(): Attribute[];
}

const byName = models as unknown as Record<string, Model | undefined>;
/** A name that several groups have is behind that of the group: "FlowcontrolV1Subject". */
function modelOf({ name, parent }: protobuf.Type): Model | undefined {
  const group = parent?.parent?.name ?? '';
  const own = `${group.charAt(0).toUpperCase()}${group.slice(1)}V1${name}`;
  const newest = group === 'autoscaling' && parent?.name === 'v1' ? undefined : byName[`V2${name}`];
  return newest ?? byName[`V1${name}`] ?? byName[own];
}

/** Fields of a message that the model has not, with the reason. */
const added: Record<string, string> = { 'NodeStatus.usage': "the machine's figures, Berth's own" };

/**
 * Messages of Kubernetes' that its JSON API does not show as a model: they are inlined, scalars in JSON,
 * or parameters of a URL.
 */
const withoutModel: Record<string, string> = {
  EphemeralContainerCommon: 'inlined into EphemeralContainer',
  ExtraValue: 'a list in JSON',
  FieldsV1: 'any JSON object',
  IngressRuleValue: 'inlined into IngressRule',
  IntOrString: 'a number or a string in JSON',
  ListOptions: 'parameters of a URL',
  PersistentVolumeSource: 'inlined into PersistentVolumeSpec',
  PodAttachOptions: 'parameters of a URL',
  PodExecOptions: 'parameters of a URL',
  PodLogOptions: 'parameters of a URL',
  PodPortForwardOptions: 'parameters of a URL',
  ProbeHandler: 'inlined into Probe',
  Quantity: 'a string in JSON',
  RawExtension: 'any JSON object',
  Rule: 'inlined into RuleWithOperations',
  VolumeSource: 'inlined into Volume',
};

/** Kind and apiVersion stand in the JSON form only; the codec adds and takes them. */
const isTypeMeta = (attribute: Attribute, message: protobuf.Type): boolean =>
  ['apiVersion', 'kind'].includes(attribute.baseName) &&
  (message.fields.metadata !== undefined || message.name === 'DeleteOptions');

/** The JSON types that a field's type may appear as in the models: "type|format". */
function jsonTypes(field: protobuf.Field): string[] {
  const type = typeName(field);
  const name = type.replace(/^.*\./, '');
  const micro = field.options?.['(berth.meta.v1.micro_time)'] === true;
  const known: Record<string, string[]> = {
    string: ['string|'],
    bool: ['boolean|'],
    int32: ['number|int32'],
    int64: ['number|int64'],
    double: ['number|double'],
    bytes: ['string|byte'],
    'google.protobuf.Timestamp': micro ? ['V1MicroTime|date-time-micro'] : ['Date|date-time'],
    'berth.meta.v1.Quantity': ['string|'],
    'berth.meta.v1.IntOrString': ['IntOrString|int-or-string'],
    'berth.meta.v1.FieldsV1': ['any|'],
    'berth.meta.v1.RawExtension': ['any|'],
    'berth.authentication.v1.ExtraValue': ['Array<string>|'],
    'berth.authorization.v1.ExtraValue': ['Array<string>|'],
    'berth.certificates.v1.ExtraValue': ['Array<string>|'],
  };
  const scalars =
    known[type] ??
    ['V1', 'V2', 'CoreV1', 'RbacV1', 'DiscoveryV1', 'EventsV1', 'StorageV1', 'FlowcontrolV1', 'AdmissionregistrationV1'].map(
      (group) => `${group}${name}|`,
    );
  const wrap = (form: (type: string) => string): string[] =>
    scalars.map((scalar) => scalar.replace(/^(.*)\|/, (_, inner) => `${form(inner)}|`));
  if (field.map) return wrap((inner) => `{ [key: string]: ${inner}; }`);
  return field.repeated ? wrap((inner) => `Array<${inner}>`) : scalars;
}

/** Those with numbers in the list of fields, and one that the list leaves out. */
const compared = [...groups, 'flowcontrol.v1']
  .flatMap(messagesOf)
  .filter((message) => modelOf(message) !== undefined)
  .map((message) => ({ name: message.name, message, attributes: modelOf(message)!.getAttributeTypeMap() }));

describe("the protos have every field of Kubernetes' JSON models", () => {
  it.each(compared)('$name', ({ name, message, attributes }) => {
    const fields = new Map(jsonFields(message).map((field) => [field.name, field]));
    const expected = attributes.filter((attribute) => !isTypeMeta(attribute, message));
    const wrong = expected.flatMap(({ baseName, type, format }) => {
      const field = fields.get(baseName);
      if (!field) return [`${baseName}: missing`];
      return jsonTypes(field).includes(`${type}|${format}`) ? [] : [`${baseName}: ${typeName(field)} is not ${type}|${format}`];
    });
    expect(wrong).toEqual([]);
    const names = expected.map((attribute) => attribute.baseName);
    expect([...fields.keys()].filter((field) => !names.includes(field) && !(`${name}.${field}` in added))).toEqual([]);
  });

  it('compares more than a hundred messages', () => {
    expect(compared.length).toBeGreaterThan(100);
  });

  it('gives a reason for every message without a model', () => {
    const others = groups.flatMap((group) =>
      messagesOf(group).filter((message) => !modelOf(message) && !isEnvelope(message) && !(`${group}.${message.name}` in ours)),
    );
    expect([...new Set(others.map((message) => message.name))].sort()).toEqual(Object.keys(withoutModel).sort());
  });

  it('lists no difference that is none', () => {
    const model = Object.fromEntries(
      compared.map(({ name, attributes }) => [name, attributes.map((attribute) => attribute.baseName)]),
    );
    const message = Object.fromEntries(compared.map((pair) => [pair.name, jsonFields(pair.message).map((field) => field.name)]));
    const has = (table: Record<string, string[]>, path: string): boolean => {
      const [name, field] = path.split('.');
      return table[name!]?.includes(field!) ?? false;
    };
    expect(Object.keys(added).filter((path) => has(model, path) || !has(message, path))).toEqual([]);
  });
});

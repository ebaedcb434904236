import { GVK, type OpenApiVersion, reference, type Schema } from './definitions.ts';
import type { Operation, Parameter } from './operations.ts';

const forms = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
export const strategic = 'application/strategic-merge-patch+json';
const patchForms = ['application/json-patch+json', 'application/merge-patch+json', strategic, 'application/apply-patch+yaml'];
const plainPatchForms = patchForms.filter((form) => form !== strategic);

/** kubectl sends the patch that it finds here. */
const consumed = ({ method, withoutStrategic }: Operation): readonly string[] => {
  if (method !== 'patch') return ['*/*'];
  return withoutStrategic ? plainPatchForms : patchForms;
};

/** The operations of a path as the document has them. */
export function writePath(operations: readonly Operation[], version: OpenApiVersion): Schema {
  return Object.fromEntries(operations.map((each) => [each.method, version === 2 ? inV2(each) : inV3(each)]));
}

const common = ({ action, gvk, id }: Operation): Schema => ({
  operationId: id,
  'x-kubernetes-action': action,
  [GVK]: gvk,
});

export function inV2(operation: Operation): Schema {
  const { parameters, body, answer } = operation;
  const sent = { name: 'body', in: 'body', required: operation.method !== 'delete', schema: body && reference(body, 2) };
  return {
    ...common(operation),
    consumes: consumed(operation),
    produces: forms,
    schemes: ['https'],
    parameters: [...(body ? [sent] : []), ...parameters.map((each) => ({ ...each, ...must(each) }))],
    responses: { '200': { description: 'OK', schema: answer ? reference(answer, 2) : { type: 'string' } } },
  };
}

const must = (parameter: Parameter): { required?: true } => (parameter.in === 'path' ? { required: true } : {});

function inV3(operation: Operation): Schema {
  const { parameters, body, answer } = operation;
  const contentOf = (types: readonly string[], name: string | undefined): Schema =>
    Object.fromEntries(types.map((type) => [type, { schema: name ? reference(name, 3) : { type: 'string' } }]));
  return {
    ...common(operation),
    parameters: parameters.map(({ type, ...each }) => ({ ...each, ...must({ type, ...each }), schema: { type } })),
    ...(body && { requestBody: { content: contentOf(consumed(operation), body) } }),
    responses: { '200': { description: 'OK', content: contentOf(forms, answer) } },
  };
}

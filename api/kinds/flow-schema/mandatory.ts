import type { FlowSchema, FlowSchemaSpec, PolicyRulesWithSubjects } from '../../generated/types.ts';

/** All requests of these groups. */
const allOf = (...names: readonly string[]): PolicyRulesWithSubjects => ({
  subjects: names.map((name) => ({ kind: 'Group', group: { name } })),
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
});

/** The schemas that every cluster of Kubernetes has, by their names; clients rely on them. */
export const mandatoryFlowSchemas: Readonly<Record<string, FlowSchemaSpec>> = {
  exempt: {
    matchingPrecedence: 1,
    priorityLevelConfiguration: { name: 'exempt' },
    rules: [allOf('system:masters')],
  },
  'catch-all': {
    matchingPrecedence: 10_000,
    priorityLevelConfiguration: { name: 'catch-all' },
    distinguisherMethod: { type: 'ByUser' },
    rules: [allOf('system:unauthenticated', 'system:authenticated')],
  },
};

/** The spec that Kubernetes fixes for a schema of this name; undefined for other names. */
export function fixedFlowSchema({ metadata }: FlowSchema): FlowSchemaSpec | undefined {
  const name = metadata?.name ?? '';
  return Object.hasOwn(mandatoryFlowSchemas, name) ? mandatoryFlowSchemas[name] : undefined;
}

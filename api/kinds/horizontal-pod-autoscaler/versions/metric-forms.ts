import { isJsonObject, type Json, type JsonObject, setMember } from '../../../meta/merge-patch.ts';

// Metrics in the JSON form of autoscaling/v1, as its annotations hold them, and in that of autoscaling/v2.

/** By the member of a metric that its type names: where what stands under a name of autoscaling/v1 stands in v2. */
type Forms = Readonly<Record<string, Readonly<Record<string, string>>>>;

const identified = { metricName: 'metric.name', selector: 'metric.selector' };
const ofObject = { target: 'describedObject', ...identified };
const ofExternal = { metricName: 'metric.name', metricSelector: 'metric.selector' };
const ofContainer = { name: 'name', container: 'container' };

const target = { targetAverageUtilization: 'target.averageUtilization', targetAverageValue: 'target.averageValue' };
const specs: Forms = {
  object: { ...ofObject, targetValue: 'target.value', averageValue: 'target.averageValue' },
  pods: { ...identified, targetAverageValue: 'target.averageValue' },
  resource: { name: 'name', ...target },
  containerResource: { ...ofContainer, ...target },
  external: { ...ofExternal, targetValue: 'target.value', targetAverageValue: 'target.averageValue' },
};

const current = { currentAverageUtilization: 'current.averageUtilization', currentAverageValue: 'current.averageValue' };
const statuses: Forms = {
  object: { ...ofObject, currentValue: 'current.value', averageValue: 'current.averageValue' },
  pods: { ...identified, currentAverageValue: 'current.averageValue' },
  resource: { name: 'name', ...current },
  containerResource: { ...ofContainer, ...current },
  external: { ...ofExternal, currentValue: 'current.value', currentAverageValue: 'current.averageValue' },
};

/** A metric that autoscaling/v2 wants, in the form of v1. What that has no name for is left out. */
export const olderSpec = (metric: JsonObject): JsonObject => older(specs, metric);
/** The same of a metric that was measured. */
export const olderStatus = (metric: JsonObject): JsonObject => older(statuses, metric);

/** A metric of autoscaling/v1 in the form of v2. A member that v1 does not have stays as it is. */
export function newerSpec(metric: JsonObject): JsonObject {
  const made = newer(specs, metric);
  for (const source of Object.values(made))
    if (isJsonObject(source) && isJsonObject(source.target)) source.target = typedTarget(source.target);
  return made;
}

/** The same of a metric that was measured. */
export const newerStatus = (metric: JsonObject): JsonObject => newer(statuses, metric);

/** Kubernetes writes an amount that is not set as 0. */
function typedTarget({ value, ...others }: JsonObject): JsonObject {
  const { averageUtilization, averageValue } = others;
  if (averageUtilization !== undefined) return { type: 'Utilization', ...others };
  if (averageValue !== undefined)
    return { type: 'AverageValue', ...(value !== undefined && value !== '0' && { value }), ...others };
  return { type: 'Value', ...(value !== undefined && { value }), ...others };
}

function older(forms: Forms, metric: JsonObject): JsonObject {
  const made: JsonObject = {};
  for (const [member, source] of Object.entries(metric)) {
    const names = forms[member];
    if (!names || !isJsonObject(source)) made[member] = source;
    else made[member] = Object.fromEntries(Object.entries(names).flatMap(([name, path]) => found(name, at(source, path))));
  }
  return made;
}

const found = (name: string, value: Json | undefined): [string, Json][] => (value === undefined ? [] : [[name, value]]);

function at(source: JsonObject, path: string): Json | undefined {
  const [first = '', second] = path.split('.');
  const outer = source[first];
  if (second === undefined) return outer;
  return isJsonObject(outer) ? outer[second] : undefined;
}

function newer(forms: Forms, metric: JsonObject): JsonObject {
  const made: JsonObject = {};
  for (const [member, source] of Object.entries(metric)) {
    const names = forms[member];
    if (!names || !isJsonObject(source)) {
      setMember(made, member, source);
      continue;
    }
    const moved: JsonObject = {};
    for (const [name, value] of Object.entries(source)) put(moved, Object.hasOwn(names, name) ? names[name]! : name, value);
    setMember(made, member, moved);
  }
  return made;
}

function put(into: JsonObject, path: string, value: Json): void {
  const [first = '', second] = path.split('.');
  if (value === null) return;
  if (second === undefined) setMember(into, first, value);
  else into[first] = { ...(isJsonObject(into[first]) ? into[first] : {}), [second]: value };
}

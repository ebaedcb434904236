import type { Describer } from './describer.ts';
import { list, type Tree, text, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeConditions, writeLabels, writeName } from './sections.ts';
import { number, writeCreation } from './workload.ts';

/** What it scales by, within which bounds, and what it found. */
export const describeHorizontalPodAutoscaler: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeLabels(object, lines);
    writeCreation(object, lines, now);
    const target = tree(object, 'spec', 'scaleTargetRef');
    lines.field('Reference', `${text(target, 'kind')}/${text(target, 'name')}`);
    lines.field('Metrics', '( current / target )');
    for (const { name, values } of metricTexts(object)) lines.field(`  ${name}`, values);
    lines.field('Min replicas', text(object, 'spec', 'minReplicas') || '<unset>');
    lines.field('Max replicas', number(object, 'spec', 'maxReplicas'));
    writeBehavior(tree(object, 'spec', 'behavior'), lines);
    const [there, wanted] = [number(object, 'status', 'currentReplicas'), number(object, 'status', 'desiredReplicas')];
    lines.field(`${text(target, 'kind')} pods`, `${there} current / ${wanted} desired`);
    if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
  };

interface MetricText {
  readonly name: string;
  /** "12% (30m) / 80%". */
  readonly values: string;
}

/** What it scales by, and what its controller found last. */
export function metricTexts(object: Tree): MetricText[] {
  const current = list(object, 'status', 'currentMetrics');
  return list(object, 'spec', 'metrics').map((metric, at) => metricText(metric, current[at] ?? {}));
}

/** "resource cpu on pods  (as a percentage of request)": what it is now, and should be. */
function metricText(metric: Tree, status: Tree): MetricText {
  const type = text(metric, 'type');
  const key = type.charAt(0).toLowerCase() + type.slice(1);
  const [spec, now] = [tree(metric, key), tree(status, key, 'current')];
  const target = tree(spec, 'target');
  const or = (value: string): string => value || '<unknown>';
  const average = `${or(text(now, 'averageValue'))} / ${text(target, 'averageValue')}`;
  const isAverage = text(target, 'averageValue') !== '';
  const whole = `${or(text(now, 'value'))} / ${text(target, 'value')}`;
  const quoted = JSON.stringify(text(spec, 'metric', 'name'));
  const which = isAverage ? '(target average value)' : '(target value)';
  switch (type) {
    case 'Resource':
    case 'ContainerResource': {
      const container = type === 'Resource' ? '' : ` of container ${JSON.stringify(text(spec, 'container'))}`;
      const name = `resource ${text(spec, 'name')}${container} on pods`;
      return isAverage
        ? { name, values: average }
        : { name: `${name}  (as a percentage of request)`, values: utilization(target, now) };
    }
    case 'Pods':
      return { name: `${quoted} on pods`, values: average };
    case 'Object': {
      const described = `${text(spec, 'describedObject', 'kind')}/${text(spec, 'describedObject', 'name')}`;
      return { name: `${quoted} on ${described} ${which}`, values: isAverage ? average : whole };
    }
    case 'External':
      return { name: `${quoted} ${which}`, values: isAverage ? average : whole };
    default:
      return { name: `<unknown metric type ${JSON.stringify(type)}>`, values: '' };
  }
}

/** "12% (30m) / 80%". */
function utilization(target: Tree, now: Tree): string {
  const [percent, amount, wanted] = [
    text(now, 'averageUtilization'),
    text(now, 'averageValue'),
    text(target, 'averageUtilization'),
  ];
  const current = percent === '' ? '<unknown>' : `${percent}%${amount && ` (${amount})`}`;
  return `${current} / ${wanted === '' ? '<auto>' : `${wanted}%`}`;
}

function writeBehavior(behavior: Tree, lines: Lines): void {
  if (Object.keys(behavior).length === 0) return;
  lines.section('Behavior', (inner) => {
    for (const [heading, name] of [
      ['Scale Up', 'scaleUp'],
      ['Scale Down', 'scaleDown'],
    ] as const) {
      const rules = tree(behavior, name);
      if (Object.keys(rules).length > 0) inner.section(heading, (body) => writeRules(rules, body));
    }
  });
}

function writeRules(rules: Tree, lines: Lines): void {
  const window = text(rules, 'stabilizationWindowSeconds');
  if (window) lines.line(`Stabilization Window: ${window} seconds`);
  const policies = list(rules, 'policies');
  if (policies.length === 0) return;
  lines.line(`Select Policy: ${text(rules, 'selectPolicy') || 'Max'}`);
  lines.section('Policies', (inner) => {
    for (const policy of policies)
      inner.line(
        `- Type: ${text(policy, 'type')}  Value: ${text(policy, 'value')}  Period: ${text(policy, 'periodSeconds')} seconds`,
      );
  });
}

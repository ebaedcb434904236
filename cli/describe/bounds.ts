import type { Describer } from './describer.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import { writeName } from './sections.ts';

// ResourceQuota and LimitRange: what bounds the objects of a namespace.

const scopeTexts: Readonly<Record<string, string>> = {
  Terminating:
    'Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system.',
  NotTerminating:
    'Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate.',
  BestEffort: 'Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.',
  NotBestEffort:
    'Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service.',
};

/** What is in use of each bound. */
export const describeResourceQuota: Describer = async (object) => (lines) => {
  writeName(object, lines);
  const scopes = strings(object, 'spec', 'scopes').sort();
  if (scopes.length > 0) lines.field('Scopes', scopes.join(', '));
  for (const scope of scopes) if (scopeTexts[scope]) lines.line(` * ${scopeTexts[scope]}`);
  for (const selector of list(object, 'spec', 'scopeSelector', 'matchExpressions')) {
    const values = strings(selector, 'values').join(', ');
    lines.field('Scope', `${text(selector, 'scopeName')} ${text(selector, 'operator')}${values && ` (${values})`}`);
  }
  const [hard, used] = [tree(object, 'status', 'hard'), tree(object, 'status', 'used')];
  // Until the quota's controller has counted, nothing is known to be in use.
  const bounds = Object.keys(hard).length > 0 ? hard : tree(object, 'spec', 'hard');
  lines.table(
    '',
    ['Resource', 'Used', 'Hard'],
    Object.keys(bounds)
      .sort()
      .map((name) => [name, text(used, name) || '0', text(bounds, name)]),
  );
};

/** A row for each resource of each type of object. */
export const describeLimitRange: Describer = async (object) => (lines) => {
  writeName(object, lines);
  const headings = ['Type', 'Resource', 'Min', 'Max', 'Default Request', 'Default Limit', 'Max Limit/Request Ratio'];
  lines.table('', headings, list(object, 'spec', 'limits').flatMap(limitRows));
};

const limitFields = ['min', 'max', 'defaultRequest', 'default', 'maxLimitRequestRatio'] as const;

function limitRows(item: Tree): string[][] {
  const resources = new Set(limitFields.flatMap((field) => Object.keys(tree(item, field))));
  return [...resources]
    .sort()
    .map((resource) => [text(item, 'type'), resource, ...limitFields.map((field) => text(item, field, resource) || '-')]);
}

import { kindNamed } from '../../api/kinds/index.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import { listAllJson } from '../get/listing.ts';
import { formatAge } from '../printers/age.ts';
import { controlledBy } from '../workload/owned-pods.ts';
import type { Describer } from './describer.ts';
import { list, type Tree, text, tree } from './json.ts';
import { type Lines, timeText } from './lines.ts';
import { writePodTemplate } from './pod-template.ts';
import { writeConditions, writeController, writeDeletion, writeLabels, writeName } from './sections.ts';
import { number, templateIn, withTroubles, workloadDescriber, writeSelector } from './workload.ts';

/** What it does, how far it is, and its template. */
export const describeJob = workloadDescriber('Job', (object, _owned, lines, now) => {
  writeName(object, lines);
  writeSelector(tree(object, 'spec', 'selector'), lines);
  writeLabels(object, lines);
  writeDeletion(object, lines, now);
  writeController(object, lines);
  writeJobSpec(object, lines);
  writeJobTimes(object, lines);
  const { active, ready, succeeded, failed } = {
    active: number(object, 'status', 'active'),
    ready: text(object, 'status', 'ready'),
    succeeded: number(object, 'status', 'succeeded'),
    failed: number(object, 'status', 'failed'),
  };
  lines.field('Pods Statuses', `${active} Active${ready && ` (${ready} Ready)`} / ${succeeded} Succeeded / ${failed} Failed`);
  if (text(object, 'spec', 'completionMode') === 'Indexed')
    lines.field('Completed Indexes', shortList(text(object, 'status', 'completedIndexes')));
  writePodTemplate(templateIn(object), lines);
  if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
});

function writeJobSpec(object: Tree, lines: Lines): void {
  const spec = tree(object, 'spec');
  lines.field('Parallelism', number(spec, 'parallelism'));
  lines.field('Completions', text(spec, 'completions') || '<unset>');
  lines.field('Completion Mode', text(spec, 'completionMode') || 'NonIndexed');
  lines.field('Suspend', text(spec, 'suspend') || 'false');
  lines.field('Backoff Limit', number(spec, 'backoffLimit'));
  if (text(spec, 'ttlSecondsAfterFinished')) lines.field('TTL Seconds After Finished', text(spec, 'ttlSecondsAfterFinished'));
}

function writeJobTimes(object: Tree, lines: Lines): void {
  const [start, end] = [text(object, 'status', 'startTime'), text(object, 'status', 'completionTime')];
  if (start) lines.field('Start Time', timeText(start));
  if (end) lines.field('Completed At', timeText(end));
  if (start && end) lines.field('Duration', formatAge(Date.parse(end) - Date.parse(start)));
  const deadline = text(object, 'spec', 'activeDeadlineSeconds');
  if (deadline) lines.field('Active Deadline Seconds', `${deadline}s`);
}

/** A long list of indexes ends behind the comma after 50 characters. */
function shortList(indexes: string): string {
  const comma = indexes.indexOf(',', 50);
  return comma < 0 ? indexes : `${indexes.slice(0, comma + 1)}...`;
}

/** When it makes jobs, and of what; behind the events what is wrong with pods of its jobs. */
export const describeCronJob: Describer = async (object, context) => {
  const { pods } = await readJobsOf(context.session.client.objects, object);
  return await withTroubles((lines) => writeCronJob(object, lines, context.now), pods, context);
};

/** The jobs of a CronJob, the oldest first, and their pods. */
export async function readJobsOf(
  objects: ObjectsClient,
  cronJob: Tree,
): Promise<{ readonly jobs: readonly JsonObject[]; readonly pods: readonly JsonObject[] }> {
  const namespace = text(cronJob, 'metadata', 'namespace');
  const [jobs, pods] = await Promise.all([
    listAllJson(objects, kindNamed('Job'), { namespace }),
    listAllJson(objects, kindNamed('Pod'), { namespace, labelSelector: workloadLabels.controllerUid }),
  ]);
  const bornAt = (job: Tree): string => text(job, 'metadata', 'creationTimestamp');
  const own = controlledBy([cronJob], jobs).sort((a, b) => (bornAt(a) < bornAt(b) ? -1 : 1));
  return { jobs: own, pods: controlledBy(own, pods) };
}

function writeCronJob(object: Tree, lines: Lines, now: Date): void {
  const spec = tree(object, 'spec');
  const orUnset = (name: string, unit = ''): string => (text(spec, name) === '' ? '<unset>' : `${text(spec, name)}${unit}`);
  writeName(object, lines);
  writeLabels(object, lines);
  writeDeletion(object, lines, now);
  lines.field('Schedule', text(spec, 'schedule'));
  lines.field('Concurrency Policy', text(spec, 'concurrencyPolicy'));
  lines.field('Suspend', text(spec, 'suspend') === 'true' ? 'True' : 'False');
  lines.field('Time Zone', orUnset('timeZone'));
  lines.field('Successful Job History Limit', orUnset('successfulJobsHistoryLimit'));
  lines.field('Failed Job History Limit', orUnset('failedJobsHistoryLimit'));
  lines.field('Starting Deadline Seconds', orUnset('startingDeadlineSeconds', 's'));
  const job = tree(spec, 'jobTemplate', 'spec');
  lines.field('Parallelism', text(job, 'parallelism') || '<unset>');
  lines.field('Completions', text(job, 'completions') || '<unset>');
  if (text(job, 'activeDeadlineSeconds')) lines.field('Active Deadline Seconds', `${text(job, 'activeDeadlineSeconds')}s`);
  writePodTemplate(tree(job, 'template'), lines);
  const last = text(object, 'status', 'lastScheduleTime');
  lines.field('Last Schedule Time', last ? timeText(last) : '<unset>');
  const active = list(object, 'status', 'active').map((each) => text(each, 'name'));
  lines.field('Active Jobs', active.join(', '));
}

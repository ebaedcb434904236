import type { Container, Job, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { podOfTemplate } from '../../api/kinds/pod-template/pod-of-template.ts';
import { jobTrackingFinalizer, workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import type { NewPod } from '../owned-pods/pod-writer.ts';
import { judgeFailure } from './failure-policy.ts';
import { failuresBefore, hasLimitPerIndex } from './job-facts.ts';

const kind = kindNamed('Job');
const indexVariable = 'JOB_COMPLETION_INDEX';
/** What is left of 63 characters when a name is drawn. */
const prefixMost = 58;

/** A new pod of a Job without indexes. */
export function newPod(job: Job): NewPod {
  const pod = podOfTemplate(job.spec?.template ?? {}, { kind, object: job });
  const { finalizers = [] } = pod.metadata ?? {};
  return { ...pod, metadata: { ...pod.metadata, finalizers: [...new Set([...finalizers, jobTrackingFinalizer])] } };
}

/** A new pod for an index; `replaced` is the one that failed there before and hands its count of failures on. */
export function newIndexedPod(job: Job, index: number, replaced: Pod | undefined): NewPod {
  const { metadata = {}, spec = {} } = newPod(job);
  const { name = '' } = job.metadata ?? {};
  const infix = `-${index}-`;
  return {
    metadata: {
      ...metadata,
      generateName: `${name.slice(0, prefixMost - infix.length)}${infix}`,
      labels: { ...metadata.labels, [workloadLabels.completionIndex]: String(index) },
      annotations: {
        ...metadata.annotations,
        [workloadAnnotations.completionIndex]: String(index),
        ...(hasLimitPerIndex(job) && failureCounts(job, replaced)),
      },
    },
    spec: {
      ...spec,
      hostname: `${name}-${index}`,
      ...(spec.initContainers && { initContainers: spec.initContainers.map(withIndexVariable) }),
      containers: (spec.containers ?? []).map(withIndexVariable),
    },
  };
}

function failureCounts(job: Job, replaced: Pod | undefined): Record<string, string> {
  let { counted, ignored } = replaced ? failuresBefore(replaced) : { counted: 0, ignored: 0 };
  if (replaced && judgeFailure(job, replaced).counts) counted++;
  else if (replaced) ignored++;
  return {
    [workloadAnnotations.indexFailureCount]: String(counted),
    ...(ignored > 0 && { [workloadAnnotations.indexIgnoredFailureCount]: String(ignored) }),
  };
}

/** A variable of that name that the template has is left alone. */
function withIndexVariable(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === indexVariable)) return container;
  const fieldPath = `metadata.labels['${workloadLabels.completionIndex}']`;
  return { ...container, env: [...env, { name: indexVariable, valueFrom: { fieldRef: { fieldPath } } }] };
}

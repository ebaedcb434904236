/** Labels on the pods of a job; the older names go with the newer ones. */
export const jobLabels = {
  controllerUid: 'batch.kubernetes.io/controller-uid',
  jobName: 'batch.kubernetes.io/job-name',
  olderControllerUid: 'controller-uid',
  olderJobName: 'job-name',
} as const;

/** The labels that the pods of a job have, by which it finds them, unless the client chose others (manualSelector). */
export function labelsOfPods(job: { readonly uid: string; readonly name: string }): Record<string, string> {
  return {
    [jobLabels.controllerUid]: job.uid,
    [jobLabels.jobName]: job.name,
    [jobLabels.olderControllerUid]: job.uid,
    [jobLabels.olderJobName]: job.name,
  };
}

import { type FieldSupportTable, refused, works } from '../field-support.ts';
import { jobSpecFields } from '../job/fields.ts';
import { metadataFields } from '../metadata-fields.ts';
import { templateMetadataFields } from '../pod-template/fields.ts';

const generated = refused('the server makes the selector of each job');

/** What Berth does with each field of a CronJob. */
export const cronJobFields: FieldSupportTable = {
  ...metadataFields,
  'spec.schedule': works,
  'spec.timeZone': works,
  'spec.startingDeadlineSeconds': works,
  'spec.concurrencyPolicy': works,
  'spec.suspend': works,
  ...templateMetadataFields('spec.jobTemplate', ['labels', 'annotations']),
  // As in Kubernetes it names nothing; `kubectl create cronjob` always writes the cron job's own name there.
  'spec.jobTemplate.metadata.name': works,
  ...jobSpecFields('spec.jobTemplate.spec'),
  'spec.jobTemplate.spec.selector': generated,
  'spec.jobTemplate.spec.manualSelector': generated,
  'spec.successfulJobsHistoryLimit': works,
  'spec.failedJobsHistoryLimit': works,
  status: works,
};

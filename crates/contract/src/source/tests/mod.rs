mod documents;
mod hostile;
mod sample;
mod wording;

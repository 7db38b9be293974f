"""Chat models, embedders and token counts: everything that stands for a model, remote, bundled or none."""
